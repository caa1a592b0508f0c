package batch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/mewkiz/flac"

	"github.com/mynah-tts/mynah/internal/audio"
)

// wavHeaderBytes is what stands before the samples in a WAV file of ours.
const wavHeaderBytes = 44

// direct reports whether the samples of a chapter can be read from its file. Of MP3 they
// cannot: each chapter is kept as FLAC as well, so that a book in which one chapter has
// changed can be joined anew without the others being made again.
func (j *Job) direct() bool { return j.opts.Format != audio.MP3 }

// joinedDigest is that of the joined file.
func (j *Job) joinedDigest() (string, error) {
	x := joinedRecipe{Gap: int64(j.opts.ChapterGap), Format: string(j.opts.Format), Rate: j.opts.SampleRate}
	for _, t := range j.tasks {
		x.Chapters = append(x.Chapters, t.digest)
	}
	return hash(x)
}

// joinedIsThere reports whether the joined file is finished.
func (j *Job) joinedIsThere() bool {
	digest, err := j.joinedDigest()
	r := j.folder.live[j.book+j.extension()]
	return err == nil && r != nil && r.Digest == digest
}

// join makes the joined file of a book: the samples of all chapters with silence between,
// each the same to the bit as in the chapter's own file if that is WAV, PCM or FLAC.
func (r *run) join() error {
	name := r.book + r.extension()
	if problem := r.inTheWay(r.book); problem != "" {
		r.joined = &Record{Title: r.book, SampleRate: r.opts.SampleRate, Error: problem}
		return nil
	}
	if r.joinedIsThere() {
		r.joined = r.folder.live[name]
		return r.captions(r.joined, r.book)
	}
	record := &Record{Title: r.book, File: name, SampleRate: r.opts.SampleRate}
	var err error
	if record.Digest, err = r.joinedDigest(); err != nil {
		return err
	}
	path := r.work("new-" + record.Digest + r.extension())
	if err := r.writeJoined(path, record); err != nil {
		return err
	}
	if record.Error == "" {
		if err := r.commit(record, path); err != nil {
			return err
		}
	}
	r.joined = record
	if record.Error != "" {
		return nil
	}
	return r.captions(record, r.book)
}

// writeJoined writes the samples and fills in the record.
func (r *run) writeJoined(path string, record *Record) error {
	gap := int64(r.opts.ChapterGap.Seconds()*float64(r.opts.SampleRate) + 0.5) // whole samples
	for i, t := range r.tasks {
		if i > 0 {
			record.Samples += gap
		}
		start := float64(record.Samples) / float64(record.SampleRate)
		record.Samples += t.result.Samples
		record.Frames += t.result.Frames
		record.Chapters = append(record.Chapters, Chapter{t.item.Title, t.file, start, float64(record.Samples) / float64(record.SampleRate)})
		for _, s := range t.result.Segments {
			record.Segments = append(record.Segments, Span{start + s.Start, start + s.End, s.Text})
		}
	}
	record.Duration = float64(record.Samples) / float64(record.SampleRate)
	if r.opts.Format == audio.WAV && record.Samples > maxWAVSamples {
		record.File, record.Error = "", fmt.Sprintf("%d samples are more than a WAV file holds (4 GiB); flac has no such bound", record.Samples)
		return nil
	}
	sink, err := r.opts.Disk.Sink(path, record.SampleRate, r.opts.Format)
	if err != nil {
		return onDisk(r.path(record.File), err)
	}
	defer sink.Abort()
	for i, t := range r.tasks {
		if i > 0 {
			if err := writeSilence(sink, gap); err != nil {
				return sinkError(r.path(record.File), err)
			}
		}
		if err := r.copySamples(sink, t, record.File); err != nil {
			return err
		}
	}
	if err := sink.Close(); err != nil {
		return sinkError(r.path(record.File), err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return onDisk(path, err)
	}
	record.Bytes = info.Size()
	return nil
}

func writeSilence(sink audio.Sink, n int64) error {
	silence := make([]float32, min(n, spoolBlock))
	for n > 0 {
		part := silence[:min(n, int64(len(silence)))]
		if err := sink.Write(part); err != nil {
			return err
		}
		n -= int64(len(part))
	}
	return nil
}

// copySamples copies a chapter's samples into the sink of the file of a name.
func (r *run) copySamples(sink audio.Sink, t *task, name string) error {
	path, read := r.path(t.file), readPCM
	switch r.opts.Format {
	case audio.MP3:
		path, read = r.part(t.digest), readFLAC
	case audio.FLAC:
		read = readFLAC
	case audio.WAV:
		read = func(f *os.File, take func([]float32) error) error {
			if _, err := f.Seek(wavHeaderBytes, io.SeekStart); err != nil {
				return err
			}
			return readPCM(f, take)
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return onDisk(path, err)
	}
	defer f.Close()
	left := t.result.Samples
	var failed error // of the sink
	err = read(f, func(block []float32) error {
		left -= int64(len(block))
		failed = sink.Write(block)
		return failed
	})
	switch {
	case failed != nil:
		return sinkError(r.path(name), failed)
	case err == nil && left != 0:
		err = fmt.Errorf("%d samples, wanted %d", t.result.Samples-left, t.result.Samples)
	}
	return onDisk(path, err)
}

// readPCM reads the rest of a file as 16-bit samples.
func readPCM(f *os.File, take func([]float32) error) error {
	buf, block := make([]byte, 2*spoolBlock), make([]float32, spoolBlock)
	for {
		n, err := io.ReadFull(f, buf)
		for i := range n / 2 {
			block[i] = float32(int16(binary.LittleEndian.Uint16(buf[2*i:]))) / 32768
		}
		if e := take(block[:n/2]); e != nil {
			return e
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readFLAC reads a file of 16-bit samples. The decoder writes notes about unusual rates to
// the standard logger; the program turns that off.
func readFLAC(f *os.File, take func([]float32) error) error {
	stream, err := flac.New(f)
	if err != nil {
		return err
	}
	var block []float32
	for {
		frame, err := stream.ParseNext()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		block = block[:0]
		for _, x := range frame.Subframes[0].Samples {
			block = append(block, float32(x)/32768)
		}
		if err := take(block); err != nil {
			return err
		}
	}
}
