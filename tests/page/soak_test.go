package page

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"

	"github.com/mynah-tts/mynah/server"
)

// MYNAH_SOAK=1 plays for 20 minutes: without a gap, and in no more memory than the
// recording itself takes.
func TestSoak(t *testing.T) {
	if os.Getenv("MYNAH_SOAK") == "" {
		t.Skip("MYNAH_SOAK is not set")
	}
	s := open(t, setup{frame: 30 * time.Millisecond, options: server.Options{Limits: server.Limits{InputRunes: 100_000}}, patience: 40 * time.Minute})
	s.speak(strings.Repeat(sentence+" ", 290))
	began := time.Now()
	last := time.Now()
	most := 0.0
	for !eval[bool](s, `state().selected?.over && state().speaker.player.state === "over"`) {
		if state := eval[string](s, `state().selected.state`); state == "failed" || state == "stopped" {
			t.Fatalf("%s after %v: %s", state, time.Since(began), s.text("#notice-text"))
		}
		time.Sleep(time.Second)
		ahead := eval[float64](s, `(state().speaker.player.fed - state().speaker.player.position) / 24000`)
		if ahead > 5 {
			t.Fatalf("%v s handed over ahead", ahead)
		}
		heap := call(s, runtime.GetHeapUsage, cdp.Empty{})
		recording := 2 * eval[float64](s, `state().selected.pcm.length`)
		most = max(most, heap.UsedSize+heap.BackingStorageSize-recording)
		if time.Since(last) > time.Minute {
			last = time.Now()
			t.Logf("%v: %s, heap %.1f MB, backing %.1f MB, recording %.1f MB", time.Since(began).Round(time.Second), s.text("#time"), heap.UsedSize/1e6, heap.BackingStorageSize/1e6, recording/1e6)
		}
	}
	s.whole()
	t.Logf("%s; at most %.1f MB beside the recording", s.text("#time"), most/1e6)
	if most > 64e6 {
		t.Errorf("%.1f MB beside the recording", most/1e6)
	}
}
