"""Where the stages keep their work: MYNAH_VOICE_WORK, or the ignored folder work/ beside this file. MYNAH_VOICE_DEVICE (default cpu) is
where the trainings run."""
import os

WORK = os.environ.get("MYNAH_VOICE_WORK") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "work")
DEVICE = os.environ.get("MYNAH_VOICE_DEVICE", "cpu")


def file(*parts):
    """A path inside the work folder."""
    return os.path.join(WORK, *parts)


def folder(*parts):
    """A folder inside the work folder, made if missing."""
    path = file(*parts)
    os.makedirs(path, exist_ok=True)
    return path
