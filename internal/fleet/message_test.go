package fleet

import (
	"reflect"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/mynah-tts/mynah/internal/batch"
)

func TestMessages(t *testing.T) {
	for name, text := range map[string]string{"small": "One.", "large": strings.Repeat("A long text. ", 8000)} {
		seed := int64(7)
		want := orderMessage{Order: &batch.Order{Index: 3, Identity: testIdentity, Speed: 1}, Tries: 5}
		want.Order.Request.Text, want.Order.Request.Seed = text, &seed
		m, err := pack("a.b", want)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Data) > smallMessage {
			t.Errorf("%s: %d bytes", name, len(m.Data))
		}
		var got orderMessage
		if err := unpack(m.Header, m.Data, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestPlaces(t *testing.T) {
	for subject, want := range map[string]int{
		workOf("m", "j", 12): 12, doneOf("j", 1): 1, begunOf("j", 9): 9, "mynah.done.j.0": 0, "mynah.done.j.x": 0, "j.1": 0, "": 0,
	} {
		job, index, err := place(subject)
		if (err == nil) != (want > 0) || want > 0 && (index != want || job != "j") {
			t.Errorf("%s: job %q, order %d, %v", subject, job, index, err)
		}
	}
	if job, index, ok := cutName("j.12.RANDOM.part"); job != "j" || index != 12 || !ok {
		t.Errorf("%s %d %v", job, index, ok)
	}
}

// Whatever comes from a server is an error at worst.
func FuzzUnpack(f *testing.F) {
	m, err := pack("x", resultMessage{Digest: strings.Repeat("0123456789abcdef", 2000)})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(true, m.Data)
	f.Add(false, []byte(`{"digest":"x","record":{"file":"../x"}}`))
	f.Fuzz(func(t *testing.T, packed bool, data []byte) {
		h := nats.Header{}
		if packed {
			h.Set(encodingHeader, "gzip")
		}
		var r resultMessage
		if unpack(h, data, &r) == nil {
			_ = r.check(&batch.Order{}) // must not panic
		}
		var o orderMessage
		if unpack(h, data, &o) == nil && o.Order != nil {
			if o.Order.Check(testIdentity, testRate) == nil {
				t.Error("an order by chance is right")
			}
		}
	})
}

func TestWhereHasNoSecrets(t *testing.T) {
	for url, want := range map[string]string{
		"nats://127.0.0.1:4222":                          "nats://127.0.0.1:4222",
		"nats://user:secret@host:4222":                   "nats://host:4222",
		"tls://secret@host":                              "tls://host",
		"nats://user:secret@a:1, nats://user:secret@b:2": "nats://a:1,nats://b:2",
		"user:secret@host:4222":                          "host:4222",
		"nats://user:se%cret@host":                       "host",
		"host:4222":                                      "host:4222",
	} {
		if got := Where(url); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
		s := Server{URL: strings.ReplaceAll(url, "host", "127.0.0.1:1"), Patience: 1}
		if !strings.Contains(url, "secret") {
			continue
		}
		if link, err := s.Connect(t.Context(), "test"); err == nil {
			link.Close()
			t.Errorf("%s: connected", url)
		} else if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "se%cret") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// All that a differing worker has is named, workers with the same difference together.
func TestDifferences(t *testing.T) {
	other := testIdentity
	other.Level, other.Version = "avx2", "older"
	var all []presence
	for _, name := range []string{"b", "a", "c", "d", "e"} {
		all = append(all, presence{Name: name, Identity: other})
	}
	if got, want := differences(testIdentity, all), "there are a, b, c, 2 more: instruction level avx2, version older"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
