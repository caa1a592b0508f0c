package server

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mynah-tts/mynah/internal/voices"
	"github.com/mynah-tts/mynah/synth"
)

// A clip that comes with the request, in every form of a data URL.
func TestRefAudio(t *testing.T) {
	engine := newCloneFake()
	engine.warnings = []string{"one", "two"}
	r := startClone(t, Options{}, engine)
	clip := makeClip(700)
	std, raw := base64.StdEncoding.EncodeToString(clip), base64.RawURLEncoding.EncodeToString(clip)
	lines := strings.Join([]string{std[:76], std[76:1000], std[1000:]}, `\r\n`)
	for name, url := range map[string]string{
		"plain": "data:audio/wav;base64," + std, "no type": "data:;base64," + std, "another type": "DATA:image/png;x=y;BASE64," + std,
		"other alphabet": "data:audio/wav;base64," + raw, "no padding": "data:audio/wav;base64," + strings.TrimRight(std, "="),
		"lines": "data:audio/wav;base64," + lines, "escaped": "data:audio/wav;base64," + strings.ReplaceAll(strings.ReplaceAll(std, "=", "%3D"), "+", "%2B"),
	} {
		resp := r.say(`"ref_audio":"` + url + `","ref_text":"What it says.","task_type":"Base"`)
		got := engine.last()
		if engine.spoken() != 700 || got.Reference.Text != "What it says." || got.Voice != "" || len(resp.Header.Values(headerWarning)) != 2 {
			t.Errorf("%s: the engine got %+v, header %v", name, got, resp.Header)
		}
	}
	if engine.listened() != 1 {
		t.Errorf("one clip was heard %d times", engine.listened())
	}
	clipOf := engine.heard[0]
	if clipOf.Rate != 24000 || len(clipOf.Samples) != 24000 || clipOf.Text != "What it says." {
		t.Errorf("the engine heard %d samples of %d Hz, %q", len(clipOf.Samples), clipOf.Rate, clipOf.Text)
	}
	r.say(`"ref_audio":"` + clipURL(700) + `","ref_text":"unused","x_vector_only_mode":true`)
	if got := engine.last(); got.Reference.Text != "" || got.Reference.Codes != nil || engine.listened() != 2 {
		t.Errorf("the engine got %+v", got)
	}
	a := r.batch(`{"ref_audio":"` + clipURL(800) + `","ref_text":"b","items":[{"input":"One."},{"input":"Two."},{"input":"Three.","ref_text":"c"}]}`)
	if a.Succeeded != 3 || engine.listened() != 4 {
		t.Errorf("the batch %+v, heard %d clips", a, engine.listened())
	}
}

// What a clip in a request can be refused for.
func TestRefAudioRefusals(t *testing.T) {
	engine := newCloneFake()
	r := startClone(t, Options{Limits: Limits{ClipBytes: 60_000, ClipSeconds: 2}}, engine)
	r.keep("anna", 1)
	b64 := base64.StdEncoding.EncodeToString
	for _, tc := range []struct{ name, fields, param, message string }{
		{"address", `"ref_audio":"http://127.0.0.1/x.wav","ref_text":"b"`, "ref_audio", "allowed are data URLs"},
		{"file", `"ref_audio":"file:///etc/passwd","ref_text":"b"`, "ref_audio", "allowed are data URLs"},
		{"path", `"ref_audio":"/etc/passwd","ref_text":"b"`, "ref_audio", "allowed are data URLs"},
		{"bare base64", `"ref_audio":"` + b64(makeClip(1)) + `","ref_text":"b"`, "ref_audio", "allowed are data URLs"},
		{"no base64", `"ref_audio":"data:audio/wav,xx","ref_text":"b"`, "ref_audio", "no data URL in base64"},
		{"no comma", `"ref_audio":"data:audio/wav;base64","ref_text":"b"`, "ref_audio", "no data URL in base64"},
		{"broken", `"ref_audio":"data:audio/wav;base64,A*B=","ref_text":"b"`, "ref_audio", "no base64"},
		{"padding within", `"ref_audio":"data:audio/wav;base64,AA==AA==","ref_text":"b"`, "ref_audio", "no base64"},
		{"three paddings", `"ref_audio":"data:audio/wav;base64,AA===","ref_text":"b"`, "ref_audio", "no base64"},
		{"broken escape", `"ref_audio":"data:audio/wav;base64,AA%zz","ref_text":"b"`, "ref_audio", "no base64"},
		{"empty", `"ref_audio":"data:audio/wav;base64,","ref_text":"b"`, "ref_audio", "empty"},
		{"large", `"ref_audio":"data:audio/wav;base64,` + b64(make([]byte, 60_001)) + `","ref_text":"b"`, "ref_audio", "over 60000 bytes"},
		{"text", `"ref_audio":"data:audio/wav;base64,` + b64([]byte("hello there, friend")) + `","ref_text":"b"`, "ref_audio", "the file is text"},
		{"Ogg", `"ref_audio":"data:audio/wav;base64,` + b64([]byte("OggS0000000000")) + `","ref_text":"b"`, "ref_audio", "allowed is wav, mp3 or flac"},
		{"silence", `"ref_audio":"` + clipURL(0) + `","ref_text":"b"`, "ref_audio", "silen"},
		{"number", `"ref_audio":7`, "ref_audio", "wanted text"},
		{"no transcript", `"ref_audio":"` + clipURL(1) + `"`, "ref_text", "x_vector_only_mode"},
		{"empty transcript", `"ref_audio":"` + clipURL(1) + `","ref_text":""`, "ref_text", "x_vector_only_mode"},
		{"blank transcript", `"ref_audio":"` + clipURL(1) + `","ref_text":"\n\t "`, "ref_text", "x_vector_only_mode"},
		{"blank transcript, in context", `"ref_audio":"` + clipURL(1) + `","ref_text":" ","x_vector_only_mode":false`, "ref_text", "x_vector_only_mode"},
		{"a voice as well", `"voice":"anna","ref_audio":"` + clipURL(1) + `","ref_text":"b"`, "ref_audio", "cannot be together"},
		{"transcript of a voice", `"voice":"anna","ref_text":"b"`, "ref_text", "missing"},
		{"vector of a voice", `"voice":"anna","x_vector_only_mode":true`, "x_vector_only_mode", "missing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code := "invalid_value"
			if tc.name == "number" {
				code = "invalid_type"
			}
			if m := wantError(t, r.post(speechPath, `{"input":"a",`+tc.fields+`}`), 400, tc.param, code); !strings.Contains(m, tc.message) {
				t.Errorf("message %q, want %q in it", m, tc.message)
			}
		})
	}
	engine.info.Cloning = false
	if m := wantError(t, r.post(speechPath, `{"input":"a","ref_audio":"`+clipURL(1)+`","ref_text":"b"}`), 400, "ref_audio", "invalid_value"); !strings.Contains(m, "no encoders") {
		t.Errorf("message %q", m)
	}
}

// A request may be larger than --max-body by a recording, where some are heard, and only
// so many of these at once.
func TestRefAudioBeyondMaxBody(t *testing.T) {
	engine := newCloneFake()
	r := startClone(t, Options{Limits: Limits{BodyBytes: 10_000, ClipBytes: 60_000, BodyTimeout: 5 * time.Second}}, engine)
	clip := `"ref_audio":"` + clipURL(700) + `","x_vector_only_mode":true`
	one := `{"input":"a",` + clip + `}`
	if len(one) < 20_000 {
		t.Fatalf("%d bytes are no large body", len(one))
	}
	large := r.Server.clips.large
	free := func() {
		t.Helper()
		eventually(t, "the place is free again", func() bool { return len(large) == 0 })
	}
	resp := r.post(speechPath, one)
	if data := read(t, resp); resp.StatusCode != 200 || engine.spoken() != 700 {
		t.Errorf("status %d: %.200s", resp.StatusCode, data)
	}
	free()
	chunked := r.request("POST", speechPath, one)
	chunked.Body, chunked.ContentLength, chunked.GetBody = io.NopCloser(io.MultiReader(strings.NewReader(one))), -1, nil
	if resp := r.do(chunked); resp.StatusCode != 200 {
		t.Errorf("in chunks: status %d: %.200s", resp.StatusCode, read(t, resp))
	} else {
		read(t, resp)
	}
	free()
	if a := r.batch(`{"items":[{"input":"One."}],` + clip + `}`); a.Succeeded != 1 {
		t.Errorf("the batch is %+v", a)
	}
	free()
	for name, body := range map[string]string{
		"over both":    `{"input":"a","x":"` + strings.Repeat("a", 100_001) + `"}`,
		"not spoken":   `{"input":" ",` + clip + `}`,
		"no such clip": `{"input":"a","ref_audio":"data:audio/wav;base64,` + strings.Repeat("AAAA", 10_000) + `","x_vector_only_mode":true}`,
	} {
		status := 400
		if name == "over both" {
			status = 413
		}
		if resp := r.post(speechPath, body); resp.StatusCode != status {
			t.Errorf("%s: status %d: %.200s", name, resp.StatusCode, read(t, resp))
		} else {
			read(t, resp)
		}
		free()
	}
	for range uploadPlaces {
		large <- struct{}{}
	}
	done := make(chan int)
	go func() {
		resp := r.post(speechPath, one)
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		done <- resp.StatusCode
	}()
	plain := r.post(speechPath, `{"input":"a"}`) // ordinary bodies wait for no place
	if read(t, plain); plain.StatusCode != 200 {
		t.Errorf("an ordinary body: status %d", plain.StatusCode)
	}
	<-large
	if status := <-done; status != 200 {
		t.Errorf("behind others: status %d", status)
	}
	for range uploadPlaces - 1 {
		<-large
	}
	engine.info.Cloning = false
	wantError(t, r.post(speechPath, one), 413, "", "body_too_large")
}

// A request whose recording finds no place within the time of a body comes later.
func TestRefAudioFindsNoPlace(t *testing.T) {
	r := startClone(t, Options{Limits: Limits{BodyBytes: 10_000, ClipBytes: 60_000, BodyTimeout: 20 * time.Millisecond}}, newCloneFake())
	for range uploadPlaces {
		r.Server.clips.large <- struct{}{}
	}
	resp := r.post(speechPath, `{"input":"a","ref_audio":"`+clipURL(700)+`","x_vector_only_mode":true}`)
	if resp.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	wantError(t, resp, 429, "", "queue_full")
}

// One that is refused so and never sends all of its body does not keep its connection.
func TestRefusedBodyNeverEnds(t *testing.T) {
	const most = 10_000
	r := startClone(t, Options{Limits: Limits{BodyBytes: most, ClipBytes: 60_000, BodyTimeout: 100 * time.Millisecond}}, newCloneFake())
	for range uploadPlaces {
		r.Server.clips.large <- struct{}{}
	}
	request := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{", speechPath, most+1)
	if answer := r.answerOf(request); !strings.HasPrefix(answer, "HTTP/1.1 429 ") || !strings.Contains(answer, `"code":"queue_full"`) {
		t.Errorf("answer %.300q", answer)
	}
}

// /v1/models tells whether clips are heard.
func TestModelsTellOfCloning(t *testing.T) {
	for want, engine := range map[bool]*fakeEngine{true: newCloneFake().fakeEngine, false: newFake()} {
		var r *running
		if want {
			r = startClone(t, Options{}, newCloneFake())
		} else {
			r = startWith(t, Options{}, engine)
		}
		var list struct {
			Data []struct{ Cloning *bool }
		}
		if err := json.Unmarshal(read(t, r.get("/v1/models")), &list); err != nil || list.Data[0].Cloning == nil || *list.Data[0].Cloning != want {
			t.Errorf("%+v, error %v, want %t", list, err, want)
		}
	}
}

// hearing are clips in front of an engine; stop is the end of their server.
func hearing(t *testing.T, engine *cloneFake) (c *clips, stop func()) {
	t.Helper()
	s := newServer(t, Options{})
	stop = func() { s.stopWork(errDraining) }
	t.Cleanup(stop)
	s.clips.use(engine)
	return s.clips, stop
}

// Requests that bring one clip at the same time have it heard once; whoever leaves does
// not end it for the others, and the last that leaves does.
func TestOneClipAtTheSameTime(t *testing.T) {
	engine := newCloneFake()
	engine.gate = make(chan struct{})
	c, _ := hearing(t, engine)
	clip := makeClip(10)
	var work sync.WaitGroup
	leaving, leave := context.WithCancel(t.Context())
	for i := range 10 {
		ctx := t.Context()
		if i%2 == 0 {
			ctx = leaving
		}
		work.Go(func() {
			h, err := c.hear(ctx, clip, "x")
			if left := ctx == leaving; left != (err != nil) || !left && (h.ref == nil || h.seconds != 1) || left && !errors.Is(err, errClientGone) {
				t.Errorf("%+v, error %v", h, err)
			}
		})
	}
	waiting := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		if f := c.flights[keyOfClip(clip, "x")]; f != nil {
			return f.waiting
		}
		return 0
	}
	eventually(t, "all wait", func() bool { return waiting() == 10 && engine.listened() == 1 })
	leave()
	eventually(t, "half have left", func() bool { return waiting() == 5 })
	engine.gate <- struct{}{}
	work.Wait()
	if engine.listened() != 1 || engine.cancelled != 0 {
		t.Errorf("heard %d times, cancelled %d times", engine.listened(), engine.cancelled)
	}

	// All leave: the next that comes has it heard anew.
	leaving, leave = context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := c.hear(leaving, clip, "y")
		left <- err
	}()
	eventually(t, "it is heard", func() bool { return engine.listened() == 2 })
	leave()
	if err := <-left; !errors.Is(err, errClientGone) {
		t.Errorf("error %v", err)
	}
	go func() { engine.gate <- struct{}{} }()
	if h, err := c.hear(t.Context(), clip, "y"); err != nil || h.ref.Text != "y" || engine.listened() != 3 {
		t.Errorf("%+v, error %v, heard %d times", h, err, engine.listened())
	}
	eventually(t, "what nobody waits for is cancelled", func() bool {
		engine.mu.Lock()
		defer engine.mu.Unlock()
		return engine.cancelled == 1
	})
}

// Failures are not kept, and the end of the server ends all hearing.
func TestClipsThatFail(t *testing.T) {
	engine := newCloneFake()
	c, stop := hearing(t, engine)
	engine.fail = errors.New("once")
	for range 2 {
		if _, err := c.hear(t.Context(), makeClip(10), ""); err == nil || len(c.entries) != 0 || len(c.flights) != 0 {
			t.Errorf("error %v, %d entries", err, len(c.entries))
		}
	}
	engine.fail = nil
	if _, err := c.hear(t.Context(), makeClip(10), ""); err != nil || engine.listened() != 3 {
		t.Errorf("error %v, heard %d times", err, engine.listened())
	}
	var refused *Error
	if _, err := c.hear(t.Context(), []byte("hello there"), ""); !errors.As(err, &refused) || refused.Param != "ref_audio" {
		t.Errorf("error %v", err)
	}
	engine.gate = make(chan struct{})
	ended := make(chan error)
	go func() {
		_, err := c.hear(t.Context(), makeClip(11), "")
		ended <- err
	}()
	eventually(t, "it is heard", func() bool { return engine.listened() == 4 })
	stop()
	if err := <-ended; err != errDraining {
		t.Errorf("error %v", err)
	}
}

// What is kept of clips is bounded by number and by size; what was not used for longest
// goes, and the engine is told.
func TestClipsInMemoryAreBounded(t *testing.T) {
	engine := newCloneFake()
	c, _ := hearing(t, engine)
	for i := range clipEntries + 3 {
		for _, mark := range []int{i + 1, 1} { // the first is used all the time
			if _, err := c.hear(t.Context(), makeClip(mark), "x"); err != nil {
				t.Fatal(err)
			}
		}
	}
	eventually(t, "three are forgotten", func() bool {
		engine.mu.Lock()
		defer engine.mu.Unlock()
		return len(engine.forgotten) == 3
	})
	if len(c.entries) != clipEntries || c.order.Len() != clipEntries || engine.forgotten[0].XVector[0] != 2 {
		t.Errorf("%d are kept, the first that was forgotten is %v", len(c.entries), engine.forgotten[0].XVector)
	}
	before := engine.listened()
	if _, err := c.hear(t.Context(), makeClip(1), "x"); err != nil || engine.listened() != before {
		t.Errorf("error %v, heard again", err)
	}
	sum := int64(0)
	for e := c.order.Front(); e != nil; e = e.Next() {
		sum += e.Value.(*clipEntry).bytes()
	}
	if sum != c.bytes || sum == 0 {
		t.Errorf("%d bytes are counted, there are %d", c.bytes, sum)
	}
	c.mu.Lock()
	huge := heardClip{ref: &synth.Reference{XVector: make([]float32, clipMemory/4)}}
	dropped := c.keep(clipKey{1}, huge)
	c.mu.Unlock()
	if len(dropped) != clipEntries || len(c.entries) != 1 {
		t.Errorf("%d were dropped for one that is huge, %d stay", len(dropped), len(c.entries))
	}
}

// The metrics count clips.
func TestClipMetrics(t *testing.T) {
	r := startClone(t, Options{Kept: voices.Open(t.TempDir(), 0)}, newCloneFake())
	for range 3 {
		r.say(`"ref_audio":"` + clipURL(5) + `","ref_text":"b"`)
	}
	data := read(t, r.get("/metrics"))
	for _, line := range []string{"mynah_clips_encoded_total 1\n", "mynah_clip_cache_hits_total 2\n", "mynah_clip_encode_seconds_count 1\n"} {
		if !bytes.Contains(data, []byte(line)) {
			t.Errorf("the metrics lack %q", line)
		}
	}
}

// Whatever is given as a data URL, it is decoded within its bound, or refused in a line.
func FuzzDataURL(f *testing.F) {
	f.Add("data:audio/wav;base64,UklGRg==")
	f.Add("data:;base64,UklG_-\n%3D")
	f.Add("http://x/")
	f.Fuzz(func(t *testing.T, url string) {
		data, err := decodeDataURL("ref_audio", url, 1000)
		if err != nil {
			if err.Status != 400 || strings.ContainsAny(err.Message, "\n\r\x1b\x00") || len(err.Message) > 1000 {
				t.Errorf("%q: %+v", url, err)
			}
			return
		}
		again, err := decodeDataURL("x", "data:;base64,"+base64.RawURLEncoding.EncodeToString(data), 1000)
		if len(data) == 0 || len(data) > 1000 || err != nil || !bytes.Equal(again, data) {
			t.Errorf("%q gave %d bytes, and %d", url, len(data), len(again))
		}
	})
}
