package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mynah-tts/mynah/internal/voices"
	"github.com/mynah-tts/mynah/synth"
)

// A voice is kept, named in every way, listed, and gone once it was removed.
func TestKeptVoice(t *testing.T) {
	engine := newCloneFake()
	engine.warnings = []string{"the clip is \u201cshort\u201d\nindeed"}
	r := startClone(t, Options{}, engine)
	if got := r.voices(); len(got.Voices) != 0 || got.Uploaded == nil {
		t.Errorf("at first there are %+v", got)
	}
	resp := r.upload("name", "Anna", "audio_sample", makeClip(500), "ref_text", "What she says.", "language", "German",
		"speaker_description", "A voice.", "consent", "given", "colour", "blue")
	body := read(t, resp)
	var created struct {
		Success  bool
		Voice    shownVoice
		Warnings []string
	}
	if err := json.Unmarshal(body, &created); err != nil {
		t.Fatal(err)
	}
	v := created.Voice
	if resp.StatusCode != 201 || !created.Success || len(created.Warnings) != 1 || resp.Header.Get(headerIgnored) != "colour" ||
		resp.Header.Get(headerWarning) != `the clip is \u201cshort\u201d\nindeed` {
		t.Errorf("status %d, header %v, body %s", resp.StatusCode, resp.Header, body)
	}
	if v.ID != "Anna" || v.Kind != kindUploaded || v.Mode != voices.ModeInContext || v.Seconds != 1 || v.Language != "german" || v.RefText != "What she says." ||
		v.Description != "A voice." || v.Consent != "given" || v.Model != "Fake-Base" || !v.Usable || time.Since(time.Unix(v.CreatedAt, 0)) > time.Minute || v.FileSize == 0 {
		t.Errorf("kept %+v", v)
	}
	for _, fields := range []string{`"voice":"Anna"`, `"voice":"ANNA"`, `"voice":{"id":"anna"}`, `"voice":"anna","stream_format":"sse"`, `"voice":"anna","task_type":"Base"`} {
		resp := r.say(fields)
		got := engine.last()
		if engine.spoken() != 500 || got.Voice != "" || got.Language != "german" || got.Reference.Text != "What she says." || resp.Header.Get(headerVoice) != "Anna" {
			t.Errorf("%s: the engine got %+v, header %v", fields, got, resp.Header)
		}
	}
	for fields, want := range map[string]string{`"voice":"anna","language":"English"`: "English", `"voice":"anna","language":"Auto"`: "Auto"} {
		if r.say(fields); engine.last().Language != want {
			t.Errorf("%s: spoken in %q", fields, engine.last().Language)
		}
	}
	if a := r.batch(`{"voice":"anna","items":[{"input":"One."},{"input":"Two.","voice":"bob"}]}`); a.Succeeded != 1 || *a.Results[1].Error.Code != codeVoiceNotFound || engine.spoken() != 500 {
		t.Errorf("the batch is %+v", a)
	}
	if resp := r.post("/v1/text-to-speech/ANNA", `{"text":"a"}`); resp.StatusCode != 200 || len(read(t, resp)) == 0 || engine.spoken() != 500 {
		t.Errorf("by ElevenLabs' API: status %d, spoken with %d", resp.StatusCode, engine.spoken())
	}
	lists := r.voices()
	if len(lists.Voices) != 1 || lists.Voices[0] != v || len(lists.Uploaded) != 1 || lists.Uploaded[0].Name != "Anna" || lists.Uploaded[0].Seconds != 1 {
		t.Errorf("listed are %+v", lists)
	}
	var one shownVoice
	if err := json.Unmarshal(read(t, r.get(voicesPath+"/aNNa")), &one); err != nil || one != v {
		t.Errorf("one is %+v, error %v", one, err)
	}
	if data := read(t, r.get(voicesPath+"?legacy=true")); !bytes.Contains(data, []byte(`"voices":["Anna"]`)) {
		t.Errorf("bare names: %s", data)
	}
	if resp := r.remove("ANNA"); resp.StatusCode != 200 {
		t.Errorf("status %d: %s", resp.StatusCode, read(t, resp))
	} else {
		read(t, resp)
	}
	wantError(t, r.post(speechPath, `{"input":"a","voice":"anna"}`), 400, "voice", codeVoiceNotFound)
	wantError(t, r.remove("anna"), 404, "name", codeVoiceNotFound)
	wantError(t, r.get(voicesPath+"/anna"), 404, "name", codeVoiceNotFound)
	if engine.mu.Lock(); len(engine.forgotten) != 1 {
		t.Errorf("the engine was told to forget %d references", len(engine.forgotten))
	}
	engine.mu.Unlock()
}

// A file that was edited so that the checkpoint does not take it is not usable, and the
// refusal names the voice.
func TestUnfitKeptVoice(t *testing.T) {
	r := startClone(t, Options{}, newCloneFake())
	r.keep("Anna", 500)
	files, err := filepath.Glob(filepath.Join(r.Server.opts.Kept.Dir(), "voice-*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], bytes.Replace(data, []byte("[500]"), []byte("[500,1]"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	const problem = `the file of the voice "Anna" is damaged: x_vector has 2 values, this checkpoint's have 1`
	if lists := r.voices(); len(lists.Voices) != 0 || len(lists.Uploaded) != 1 || lists.Uploaded[0].Usable || lists.Uploaded[0].Problem != problem {
		t.Errorf("%+v", lists)
	}
	if message := wantError(t, r.post(speechPath, `{"input":"a","voice":"anna"}`), 500, "", "internal_error"); message != problem {
		t.Error(message)
	}
}

// By ElevenLabs' API, voices that are kept are cloned ones, also under a mapped name.
func TestElevenCategories(t *testing.T) {
	kept := voices.Open(t.TempDir(), 0)
	engine := newCloneFake()
	if _, err := kept.Add(voices.Profile{Name: "Anna", Model: "Fake-Base", Digest: engine.digest, Seconds: 1, Reference: synth.Reference{XVector: []float32{1}}}, false); err != nil {
		t.Fatal(err)
	}
	engine.info.Speakers = []string{"ryan"}
	r := startClone(t, Options{Kept: kept, Voices: map[string]string{"alloy": "anna", "echo": "ryan"}}, engine)
	var body struct{ Voices []elevenVoiceEntry }
	if err := json.Unmarshal(read(t, r.get("/v1/voices")), &body); err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, v := range body.Voices {
		got += v.VoiceID + "=" + v.Category + " "
	}
	if got != "ryan=premade alloy=cloned echo=premade Anna=cloned " {
		t.Error(got)
	}
}

// JSON, with the recording as a data URL, is the same as a form.
func TestKeptVoiceFromJSON(t *testing.T) {
	engine := newCloneFake()
	r := startClone(t, Options{}, engine)
	resp := r.post(voicesPath, `{"name":"a","ref_audio":"`+clipURL(300)+`","text":"x","x_vector_only_mode":true,"consent":null,"x":1}`)
	data := read(t, resp)
	if resp.StatusCode != 201 || !bytes.Contains(data, []byte(`"mode":"x_vector"`)) || resp.Header.Get(headerIgnored) != "x" {
		t.Fatalf("status %d: %s", resp.StatusCode, data)
	}
	if r.say(`"voice":"a"`); engine.spoken() != 300 || engine.last().Reference.Codes != nil {
		t.Errorf("the engine got %+v", engine.last())
	}
	for body, want := range map[string][3]string{ // param, code, in the message
		`{"name":"b"}`:               {fieldSample, "missing_field", "missing"},
		`{"ref_audio":"x"}`:          {"ref_audio", "invalid_value", "allowed are data URLs"},
		`{"name":7}`:                 {"name", "invalid_type", "wanted text"},
		`{"name":"b","replace":"x"}`: {"replace", "invalid_type", "true or false"},
		`{"name":"b","audio_sample":"data:audio/wav;base64,AAAA","file":"data:;base64,AAAA"}`: {"file", "invalid_value", "twice (audio_sample)"},
		`{"name":"b","audio_sample":"data:audio/wav;base64,aGVsbG8gdGhlcmU="}`:                {fieldSample, "invalid_value", "the file is text, allowed is wav, mp3 or flac"},
		`{"name":"b"`: {"", "invalid_body", "ends too early"},
		`[]`:          {"", "invalid_body", "got a list"},
	} {
		if message := wantError(t, r.post(voicesPath, body), 400, want[0], want[1]); !strings.Contains(message, want[2]) {
			t.Errorf("%s: %q, want %q", body, message, want[2])
		}
	}
}

// Routes of voices need a key like all of /v1, and what the server does not keep, or the
// checkpoint does not hear, is refused before a body is read.
func TestWhoMayKeepVoices(t *testing.T) {
	r := startClone(t, Options{Keys: []string{"k"}}, newCloneFake())
	wantError(t, r.upload("name", "a", "file", makeClip(1)), 401, "", "invalid_api_key")
	wantError(t, r.remove("a"), 401, "", "invalid_api_key")
	wantError(t, r.get(voicesPath+"/a"), 401, "", "invalid_api_key")

	engine := newCloneFake()
	s := newServer(t, Options{})
	if err := s.Use(t.Context(), engine); err != nil {
		t.Fatal(err)
	}
	none := run(t, s, engine.fakeEngine)
	wantError(t, none.upload("name", "a", "file", makeClip(1)), 403, "", codeNoVoices)
	wantError(t, none.remove("a"), 403, "", codeNoVoices)
	wantError(t, none.get(voicesPath+"/a"), 404, "name", codeVoiceNotFound)

	presets := newCloneFake()
	presets.info.Kind, presets.info.Speakers, presets.info.Cloning = synth.CustomVoice, []string{"ryan"}, false
	custom := startClone(t, Options{Voices: map[string]string{"alloy": "ryan"}}, presets)
	if m := wantError(t, custom.upload("name", "a", "file", makeClip(1)), 400, fieldSample, "invalid_value"); !strings.Contains(m, "this is CustomVoice") {
		t.Errorf("message %q", m)
	}
	for _, name := range []string{"ryan", "ALLOY"} {
		wantError(t, custom.remove(name), 400, "name", "invalid_value")
		if resp := custom.get(voicesPath + "/" + name); resp.StatusCode != 200 {
			t.Errorf("%s: status %d", name, resp.StatusCode)
		} else {
			read(t, resp)
		}
	}
	for _, path := range []string{"/..", "/%2e%2e%2fx", "/a%2f..%2fb", "/.", "/a/b"} {
		resp := custom.do(custom.request("DELETE", voicesPath+path, ""))
		if read(t, resp); resp.StatusCode != 404 && resp.StatusCode != 405 {
			t.Errorf("%s: status %d", path, resp.StatusCode)
		}
	}
}

// A voice of another checkpoint is listed, and refused when it shall speak.
func TestVoiceOfAnotherCheckpoint(t *testing.T) {
	engine := newCloneFake()
	r := startClone(t, Options{}, engine)
	r.keep("anna", 1)
	engine.digest = strings.Repeat("d4", 32)
	lists := r.voices()
	if len(lists.Voices) != 0 || len(lists.Uploaded) != 1 || lists.Uploaded[0].Usable || !strings.Contains(lists.Uploaded[0].Problem, "c3c3c3c3c3c3") {
		t.Errorf("listed are %+v", lists)
	}
	m := wantError(t, r.post(speechPath, `{"input":"a","voice":"anna"}`), 400, "voice", codeOtherModel)
	if !strings.Contains(m, "Fake-Base (c3c3c3c3c3c3…)") || !strings.Contains(m, "Fake-Base (d4d4d4d4d4d4…)") || strings.Contains(m, "secret") {
		t.Errorf("message %q", m)
	}
}

// What is done to the folder by others, as mynah voices does, is seen at once.
func TestFolderIsShared(t *testing.T) {
	engine, dir := newCloneFake(), t.TempDir()
	r := startClone(t, Options{Kept: voices.Open(dir, 0)}, engine)
	other := voices.Open(dir, 0)
	p := voices.Profile{Name: "Bert", Model: "x", Digest: engine.digest, Seconds: 1, Reference: synth.Reference{XVector: []float32{77}}}
	if _, err := other.Add(p, false); err != nil {
		t.Fatal(err)
	}
	if r.say(`"voice":"bert"`); engine.spoken() != 77 || len(r.voices().Voices) != 1 {
		t.Errorf("spoken with %d, there are %+v", engine.spoken(), r.voices())
	}
	p.XVector = []float32{78}
	if _, err := other.Add(p, true); err != nil {
		t.Fatal(err)
	}
	if r.say(`"voice":"bert"`); engine.spoken() != 78 {
		t.Errorf("spoken with %d", engine.spoken())
	}
	if err := other.Remove("bert"); err != nil {
		t.Fatal(err)
	}
	wantError(t, r.post(speechPath, `{"input":"a","voice":"bert"}`), 400, "voice", codeVoiceNotFound)
	r.keep("carl", 5)
	files, err := filepath.Glob(filepath.Join(dir, "voice-*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, error %v", files, err)
	}
	if err := os.WriteFile(files[0], []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if m := wantError(t, r.post(speechPath, `{"input":"a","voice":"carl"}`), 500, "", "internal_error"); strings.Contains(m, dir) {
		t.Errorf("a path is in %q", m)
	}
	if got := r.voices(); len(got.Uploaded) != 0 {
		t.Errorf("there are %+v", got)
	}
	r.keep("carl", 6, "replace", "1")
}

// Names of the server go before voices that are kept, and may mean some.
func TestNamesOfVoices(t *testing.T) {
	store := voices.Open(t.TempDir(), 0)
	engine := newCloneFake()
	p := voices.Profile{Name: "Anna", Model: "x", Digest: engine.digest, Seconds: 1, Reference: synth.Reference{XVector: []float32{7}}}
	if _, err := store.Add(p, false); err != nil {
		t.Fatal(err)
	}
	r := startClone(t, Options{Kept: store, Voice: "ANNA", Voices: map[string]string{"alloy": "anna"}}, engine)
	for _, fields := range []string{`"seed":1`, `"voice":"default"`, `"voice":"alloy"`} {
		if r.say(fields); engine.spoken() != 7 {
			t.Errorf("%s: spoken with %d", fields, engine.spoken())
		}
	}
	wantError(t, r.upload("name", "Alloy", "file", makeClip(1)), 409, "name", codeVoiceExists)
	for _, opts := range []Options{
		{Kept: store, Voice: "bob"}, {Kept: store, Voices: map[string]string{"alloy": "bob"}}, {Voice: "anna"},
		{Kept: store, Voice: "anna", Reference: &synth.Reference{XVector: []float32{1}}},
	} {
		var refused *OptionError
		if err := newServer(t, opts).Use(t.Context(), newCloneFake()); !errors.As(err, &refused) {
			t.Errorf("%+v: %v", opts, err)
		}
	}
}

// A full disk is told as that, and nothing of the folder's place.
func TestVoiceErrors(t *testing.T) {
	s := newServer(t, Options{})
	full := &voices.Error{Kind: voices.Disk, Message: "/secret: no space left on device", Err: &os.PathError{Op: "write", Path: "/secret", Err: syscall.ENOSPC}}
	other := &voices.Error{Kind: voices.Disk, Message: "/secret: permission denied", Err: os.ErrPermission}
	for want, err := range map[int]error{507: full, 500: other} {
		e := asError(s.voiceError("name", fmt.Errorf("x: %w", err)))
		if e.Status != want || strings.Contains(e.Message, "secret") || e.Err == nil || (want == 507) != (e.Code == codeDiskFull) {
			t.Errorf("%v became %+v", err, e)
		}
	}
}

// Voices are added, used, replaced, removed and listed at the same time: nobody sees half
// of one, and of those who add one name without replacing it one wins.
func TestVoicesAtTheSameTime(t *testing.T) {
	engine := newCloneFake()
	r := startClone(t, Options{}, engine)
	var work sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	send := func(method, path, kind string, body io.Reader) (int, []byte) {
		req, err := http.NewRequest(method, r.url+path, body)
		if err != nil {
			t.Error(err)
			return 0, nil
		}
		req.Header.Set("Content-Type", kind)
		resp, err := r.client.Do(req)
		if err != nil {
			t.Error(err)
			return 0, nil
		}
		defer resp.Body.Close()
		data, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, data
	}
	engine.choose = func(q synth.Request) (script, error) {
		if q.Reference != nil && q.Reference.Text != fmt.Sprintf("mark %d", q.Reference.Codes[0][0]) {
			t.Errorf("torn: %+v", q.Reference)
		}
		return script{frames: 1}, nil
	}
	for i := range 20 {
		mark := 100 + 10*(i%5)
		for _, job := range []struct {
			name, replace string
			allowed       []int
		}{{"One", "false", []int{201, 409}}, {"Many", "true", []int{200, 201}}} {
			body, kind := form(t, "name", job.name, "file", makeClip(mark), "text", fmt.Sprintf("mark %d", mark), "replace", job.replace)
			work.Go(func() {
				status, data := send("POST", voicesPath, kind, body)
				if !slices.Contains(job.allowed, status) {
					t.Errorf("%s: status %d: %s", job.name, status, data)
				}
				if job.name == "One" {
					mu.Lock()
					statuses[status]++
					mu.Unlock()
				}
			})
		}
		work.Go(func() {
			status, data := send("POST", speechPath, "application/json", strings.NewReader(`{"input":"a","voice":"many"}`))
			if status != 200 && !bytes.Contains(data, []byte(codeVoiceNotFound)) {
				t.Errorf("status %d: %s", status, data)
			}
		})
		work.Go(func() {
			if status, data := send("GET", voicesPath, "", nil); status != 200 || !json.Valid(data) {
				t.Errorf("status %d: %s", status, data)
			}
			if status, data := send("DELETE", voicesPath+"/MANY", "", nil); status != 200 && status != 404 {
				t.Errorf("status %d: %s", status, data)
			}
		})
	}
	work.Wait()
	if statuses[201] != 1 || statuses[409] != 19 {
		t.Errorf("of those who added one name: %v", statuses)
	}
	if n := engine.listened(); n > 5 {
		t.Errorf("five clips were heard %d times", n)
	}
}

// The document names the fields of uploads, with their bounds.
func TestOpenAPIHasVoices(t *testing.T) {
	schemas := readDocument(t).Components.Schemas
	page, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{"VoiceForm", "VoiceUpload"} {
		properties := schemas[form].Properties
		if len(properties) != len(voiceFields) || !slices.Equal(schemas[form].Required, []string{"name", fieldSample}) {
			t.Errorf("%s has %d fields, of which %v are required", form, len(properties), schemas[form].Required)
		}
		for _, f := range voiceFields {
			kind := "string"
			if f.toggle != nil {
				kind = "boolean"
			}
			if p, ok := properties[f.name]; !ok || p.Type != kind {
				t.Errorf("%s.%s is %+v", form, f.name, p)
			}
			for _, name := range append([]string{f.name}, f.aliases...) {
				if !strings.Contains(string(page), "`"+name+"`") {
					t.Errorf("docs/api.md lacks the field %s", name)
				}
			}
		}
	}
	shown, err := json.Marshal(voiceEntry{Of: "x", uploadedVoice: &uploadedVoice{Language: "x", RefText: "x", Consent: "x", Description: "x", Problem: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(shown, &all); err != nil {
		t.Fatal(err)
	}
	for name := range all {
		if _, ok := schemas["Voice"].Properties[name]; !ok {
			t.Errorf("a voice of openapi.json lacks %s", name)
		}
	}
	if len(schemas["Voice"].Properties) != len(all) {
		t.Errorf("a voice of openapi.json has %d fields, ours %d", len(schemas["Voice"].Properties), len(all))
	}
	for _, code := range []string{codeVoiceNotFound, codeVoiceExists, codeManyVoices, codeOtherModel, codeNoVoices, codeDiskFull} {
		if !strings.Contains(string(page), "`"+code+"`") {
			t.Errorf("docs/api.md lacks the code %s", code)
		}
	}
}

// Whatever is sent as a form, it is read or refused, within its bounds.
func FuzzUpload(f *testing.F) {
	body, kind := form(f, "name", "a", "file", []byte("RIFF"), "replace", "true", "x", "y")
	boundary := kind[strings.Index(kind, "=")+1:]
	seed := strings.ReplaceAll(body.String(), boundary, "x")
	f.Add([]byte(seed))
	f.Add([]byte(strings.Replace(seed, "\"name\"", "\"\\\"\xff\"", 1)))
	f.Add([]byte("--x\r\n\r\n\r\n--x--"))
	f.Fuzz(func(t *testing.T, data []byte) {
		v := &voiceUpload{given: map[string]string{}}
		s := &Server{opts: Options{Limits: Limits{BodyTimeout: time.Second}}}
		err := v.readForm(bytes.NewReader(data), "x", 1000)
		if err == nil {
			if len(v.Audio) > 1000 || len(v.Name) > formPartBytes {
				t.Errorf("%d bytes were taken", len(v.Audio))
			}
			return
		}
		if e := asError(s.bodyError(err, 1000)); e.Status != 400 || strings.ContainsAny(e.Message, "\n\r\x1b\x00") {
			t.Errorf("%q: %+v", data, e)
		}
	})
}
