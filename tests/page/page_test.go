package page

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/mynah-tts/mynah/server"
	"github.com/mynah-tts/mynah/synth"
)

const sentence = "The first boats came home before the rain. Nobody had seen them leave."

// whole checks that a take was played to its end without a gap.
func (s *site) whole() {
	s.t.Helper()
	s.untilState(`state().selected?.over && state().speaker.player.state === "over"`)
	if got := eval[float64](s, `state().speaker.player.position - state().selected.pcm.length`); got != 0 {
		s.t.Errorf("%v samples were not played", got)
	}
	if got := eval[[]float64](s, `[state().speaker.player.silence, state().selected.underruns]`); got[0] != 0 || got[1] != 0 {
		s.t.Errorf("%v s of gaps, %v underruns", got[0], got[1])
	}
	if got := eval[string](s, `state().selected.state`); got != "done" {
		s.t.Errorf("the take is %s", got)
	}
}

func TestPlay(t *testing.T) {
	s := open(t, setup{})
	s.speak(sentence)
	s.untilState(`state().speaker.player.state === "playing"`)
	s.whole()
	if got := eval[string](s, `state().speaker.output.kind`); got != "worklet" {
		t.Errorf("plays through %s", got)
	}
	s.until(`/^\d+ ms/.test(document.querySelector("#first").textContent) && /^0\.\d\d/.test(document.querySelector("#rtf").textContent)`)
	s.until(`document.querySelector("#underruns").textContent === "0" && /median/.test(document.querySelector("#strip-text").textContent)`)
	// The next begins at its first frame, for the server is known to be fast.
	s.speak("Again.")
	s.whole()
	if got := eval[int](s, `state().takes.length`); got != 2 || s.text(".take .words") != "Again." {
		t.Errorf("%d takes, the first is %q", got, s.text(".take .words"))
	}
}

// The fields of the form arrive, and fields that are emptied are gone again.
func TestSettings(t *testing.T) {
	s := open(t, setup{})
	js[bool](s, `(() => { const f = document.querySelector("#composer").elements; f.voice.value = "high"; f.language.value = "german"; f.seed.value = "42";
		f.instructions.value = "calm <b>"; f.temperature.value = "0.5"; f.top_k.value = "3"; f.subtalker_top_p.value = "0.25";
		return f.voice.dispatchEvent(new Event("input", {bubbles: true})); })()`)
	s.speak("Hello there.")
	s.whole()
	r := s.engine.spoken[0]
	if r.Voice != "high" || r.Language != "german" || r.Seed == nil || *r.Seed != 42 || r.Instruct != "calm <b>" {
		t.Errorf("request %+v", r)
	}
	if got := fmt.Sprint(*r.Sampling.Temperature, *r.Sampling.TopK, *r.Sampling.SubTopP); got != "0.5 3 0.25" {
		t.Errorf("sampling %s", got)
	}
	js[bool](s, `(() => { document.querySelector("#more").open = true; document.querySelector("#defaults").click(); const f = document.querySelector("#composer").elements;
		f.seed.value = ""; f.instructions.value = ""; f.language.value = ""; return f.seed.dispatchEvent(new Event("input", {bubbles: true})); })()`)
	s.speak("Hello there.")
	s.whole()
	if r := s.engine.spoken[1]; r.Instruct != "" || r.Language != "" || r.Sampling.Temperature != nil || r.Voice != "high" {
		t.Errorf("request %+v", r)
	}
	s.click("#keep-seed")
	if got := js[string](s, `document.querySelector("#seed").value`); got == "" {
		t.Error("the seed was not kept")
	}
	js[bool](s, `(() => { const f = document.querySelector("#composer").elements; f.seed.value = "x1"; return true; })()`)
	s.click("#speak")
	if got := js[bool](s, `document.querySelector("#seed").matches(":invalid")`); !got || len(s.engine.spoken) != 2 {
		t.Errorf("a seed of letters: invalid %v, %d requests", got, len(s.engine.spoken))
	}
}

// What is typed is heard before the text has ended.
func TestLive(t *testing.T) {
	s := open(t, setup{})
	js[bool](s, `(document.querySelectorAll("[name=mode]")[1].click(), true)`)
	s.do(chromedp.SendKeys(chromedp.CSS("#text"), "The boats came home. "))
	s.untilState(`state().speaker.player.state === "playing"`)
	if got := eval[bool](s, `state().speech.closed`); got {
		t.Error("the text has ended")
	}
	if got := s.text("#said"); got != "The boats came home. " {
		t.Errorf("said %q", got)
	}
	s.do(chromedp.SendKeys(chromedp.CSS("#text"), "Nobo"))
	s.do(chromedp.SendKeys(chromedp.CSS("#text"), "dy saw."))
	s.do(chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(2))) // Ctrl
	s.untilState(`state().speaker.player.state === "over"`)
	if got := s.engine.texts; len(got) != 1 || got[0] != "The boats came home. Nobody saw." {
		t.Errorf("spoken: %q", got)
	}
	if got := eval[string](s, `state().selected.state + state().selected.underruns`); got != "done0" {
		t.Errorf("the take is %s", got)
	}
}

// Stop is silence within a frame, the server stops computing, and what comes after is
// spoken from its beginning.
func TestStop(t *testing.T) {
	s := open(t, setup{})
	s.speak(strings.Repeat(sentence+" ", 30))
	s.untilState(`state().speaker.player.state === "playing" && state().speaker.player.heard > 4800`)
	silent := eval[float64](s, `new Promise((resolve) => {
		const { player, output } = state().speaker;
		const told = output.ontell;
		const began = performance.now();
		output.ontell = (m) => { told(m); if (m.id === player.id && m.peak === 0) resolve(performance.now() - began); };
		document.querySelector("#speak").click();
	})`)
	if silent > 1000 { // told by a message, which may be late; the text lasts for minutes
		t.Errorf("silent after %v ms", silent)
	}
	s.untilState(`state().selected.state === "stopped"`)
	for begun := time.Now(); s.engine.alive() > 0 && time.Since(begun) < 30*time.Second; {
		time.Sleep(20 * time.Millisecond)
	}
	if s.engine.alive() != 0 || s.engine.stopped != 1 {
		t.Errorf("%d streams live, %d were stopped", s.engine.alive(), s.engine.stopped)
	}
	if got := js[bool](s, `document.querySelector("#notice").hidden`); !got {
		t.Error("stopping is told as an error")
	}
	s.speak("Something else.")
	s.whole()
	if got := eval[float64](s, `state().selected.pcm.length / 1920`); got != 12 {
		t.Errorf("the next take has %v frames", got)
	}
}

func TestReplaySeekPause(t *testing.T) {
	s := open(t, setup{})
	s.speak(sentence)
	s.whole()
	length := eval[float64](s, `state().selected.pcm.seconds`)
	// From the keyboard: the slider, then the button.
	js[bool](s, fmt.Sprintf(`(() => { const r = document.querySelector("#position"); r.focus(); r.value = %v; return r.dispatchEvent(new Event("input", {bubbles: true})); })()`, length-1))
	s.untilState(`state().speaker.player.state === "paused"`)
	if got := eval[float64](s, `state().speaker.player.position / 24000`); got < length-1.05 || got > length-0.95 {
		t.Errorf("position %v of %v", got, length)
	}
	s.do(chromedp.Focus(chromedp.CSS("#play")), chromedp.KeyEvent(" "))
	s.untilState(`state().speaker.player.state === "playing"`)
	s.click("#play")
	s.untilState(`state().speaker.player.state === "paused"`)
	at := eval[float64](s, `new Promise((r) => setTimeout(() => r(state().speaker.player.position), 300))`)
	if later := eval[float64](s, `new Promise((r) => setTimeout(() => r(state().speaker.player.position), 300))`); later != at {
		t.Errorf("moved from %v to %v while paused", at, later)
	}
	s.click("#play")
	s.whole()
	s.click(".take .pick")
	s.untilState(`state().speaker.player.state === "playing"`)
	s.whole()
}

func TestDownload(t *testing.T) {
	s := open(t, setup{})
	s.speak(sentence)
	s.whole()
	dir := t.TempDir()
	call(s, cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{Behavior: cdpbrowser.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir})
	s.click("#download")
	samples := eval[int](s, `state().selected.pcm.length`)
	var data []byte
	for range 100 {
		time.Sleep(50 * time.Millisecond)
		if names, _ := filepath.Glob(filepath.Join(dir, "The-first-boats*.wav")); len(names) == 1 {
			data, _ = os.ReadFile(names[0])
			if len(data) > 0 {
				break
			}
		}
	}
	if len(data) != 44+2*samples || string(data[:4]) != "RIFF" || binary.LittleEndian.Uint32(data[40:]) != uint32(2*samples) {
		t.Errorf("a file of %d bytes for %d samples", len(data), samples)
	}
}

// A server at 1.3 times the length of the audio is heard late, and whole.
func TestSlowServer(t *testing.T) {
	s := open(t, setup{frame: 104 * time.Millisecond})
	s.speak(sentence + " And nobody asked where they had been.")
	s.until(`/Slower than real time/.test(document.querySelector("#phase").textContent)`)
	s.untilState(`state().speaker.player.state === "playing"`)
	if got := eval[bool](s, `state().selected.over`); got {
		t.Error("playback waited for all of it")
	}
	s.whole()
}

func TestBusyAndFailed(t *testing.T) {
	s := open(t, setup{})
	s.engine.set(func() { s.engine.refuse = synth.ErrBusy })
	s.speak(sentence)
	s.until(`/busy/.test(document.querySelector("#notice-text").textContent) && /Try again/.test(document.querySelector("#notice-action").textContent)`)
	s.engine.set(func() { s.engine.refuse = nil })
	s.until(`!document.querySelector("#notice-action").disabled`)
	s.click("#notice-action")
	s.whole()
	s.engine.set(func() { s.engine.fail = 20 })
	s.speak(sentence)
	s.until(`/failed/.test(document.querySelector("#notice-text").textContent)`)
	s.untilState(`state().selected.state === "failed"`)
	s.engine.set(func() { s.engine.fail, s.engine.refuse = 0, errors.New("secret") })
	s.speak(sentence)
	s.until(`/failed/.test(document.querySelector("#notice-text").textContent) && !/secret/.test(document.body.textContent)`)
	s.speak("…")
	s.until(`/nothing to say/.test(document.querySelector("#notice-text").textContent)`)
	s.engine.set(func() { s.engine.refuse = nil })
	s.speak(strings.Repeat("word ", 1000))
	s.until(`/4096/.test(document.querySelector("#notice-text").textContent)`)
}

// The model is loaded after the page; the server goes away and comes back.
func TestLoadingOfflineReconnect(t *testing.T) {
	s := open(t, setup{loading: true})
	s.until(`document.querySelector("#status").dataset.state === "loading" && document.querySelector("#speak").disabled`)
	s.load()
	s.until(`document.querySelector("#status").dataset.state === "ready"`)
	s.speak(sentence)
	s.whole()
	s.speak(strings.Repeat(sentence+" ", 20))
	s.untilState(`state().speaker.player.state === "playing"`)
	addr := s.addr
	s.cut()
	s.until(`document.querySelector("#status").dataset.state === "offline" && document.querySelector("#speak").textContent === "Stop"`)
	s.until(`/connection to the server was lost/.test(document.querySelector("#notice-text").textContent)`)
	s.untilState(`state().selected.state === "failed" && state().selected.pcm.length > 0`) // what has arrived can be heard
	s.listen(addr, s.server)
	s.until(`document.querySelector("#status").dataset.state === "ready"`)
	if got := len(s.engine.spoken); got != 2 {
		t.Errorf("%d requests: one was sent again", got)
	}
	s.speak("Back again.")
	s.whole()
}

func TestKey(t *testing.T) {
	s := open(t, setup{options: server.Options{Keys: []string{"open-sesame"}}, loading: true})
	s.load()
	s.until(`document.querySelector("#status").dataset.state === "locked" && !document.querySelector("#key-form").hidden`)
	s.do(chromedp.SendKeys(chromedp.CSS("#key"), "open-sesame"+kb.Enter))
	s.until(`document.querySelector("#status").dataset.state === "ready"`)
	s.speak(sentence)
	s.whole()
	if code := s.text("#code"); strings.Contains(code, "sesame") || !strings.Contains(code, "MYNAH_API_KEY") {
		t.Errorf("code:\n%s", code)
	}
}

// Where there is no AudioWorklet, as over plain http from another machine, buffers are
// scheduled.
func TestWithoutWorklet(t *testing.T) {
	s := open(t, setup{})
	js[bool](s, `(Object.defineProperty(BaseAudioContext.prototype, "audioWorklet", {value: undefined}), true)`)
	s.speak(sentence)
	s.whole()
	if got := eval[string](s, `state().speaker.output.kind`); got != "scheduled" {
		t.Errorf("plays through %s", got)
	}
	s.speak(strings.Repeat(sentence+" ", 20))
	s.untilState(`state().speaker.player.state === "playing"`)
	s.click("#speak")
	s.untilState(`state().selected.state === "stopped"`)
}

// The worklet gives the very samples, at the stream's rate, without delay, once they are
// there: no message says when, so that more time is given where the machine is slow.
func TestOfflineExact(t *testing.T) {
	s := open(t, setup{})
	var wrong []float64
	for _, wait := range []int{200, 2000, 8000} {
		if wrong = renderedAfter(s, wait); wrong[0] == 0 {
			break
		}
	}
	if wrong[0] != 0 || wrong[1] != 19200 {
		t.Errorf("%v of %v samples differ", wrong[0], wrong[1])
	}
}

// renderedAfter gives a worklet samples and so many milliseconds, and returns how many of
// those that it renders then are wrong, and how many there are.
func renderedAfter(s *site, wait int) []float64 {
	s.t.Helper()
	return js[[]float64](s, fmt.Sprintf(`(async () => {
		const n = 19200, pcm = new Int16Array(n);
		for (let i = 0; i < n; i++) pcm[i] = Math.round(20000 * Math.sin(i / 7) * Math.sin(i / 1500));
		const context = new OfflineAudioContext(1, n, 24000);
		await context.audioWorklet.addModule("/page/worklet.js");
		const node = new AudioWorkletNode(context, "mynah", {numberOfInputs: 0, outputChannelCount: [1]});
		node.connect(context.destination);
		node.port.postMessage({type: "reset", id: 1, rate: 24000, faded: false});
		for (let at = 0; at < n; at += 1000) node.port.postMessage({type: "pcm", id: 1, pcm: pcm.slice(at, at + 1000)});
		node.port.postMessage({type: "end", id: 1});
		await new Promise((r) => setTimeout(r, %d));
		const out = (await context.startRendering()).getChannelData(0);
		let wrong = 0;
		for (let i = 0; i < n; i++) if (out[i] !== pcm[i] / 32768) wrong++;
		return [wrong, out.length];
	})()`, wait))
}

// A page of another origin plays speech through client.js, if it is allowed to.
func TestClientModule(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>other</title><button id=go>Go</button>")
	}))
	defer other.Close()
	s := open(t, setup{options: server.Options{Origins: []string{other.URL}}})
	s.do(chromedp.Navigate(other.URL))
	js[bool](s, fmt.Sprintf(`import("http://%s/client.js").then(({Speaker}) => {
		const speaker = new Speaker();
		document.querySelector("#go").onclick = async () => {
			let n = 0;
			const speech = speaker.speak("Hello there, you.", {voice: "high", seed: 3});
			speech.onaudio = (samples) => { n += samples.length; };
			await speech.ended;
			window.result = [n, speech.wav().size, speech.take.seed, speech.take.underruns, speaker.player.position];
		};
		return true;
	})`, s.addr))
	s.click("#go")
	s.until(`window.result`)
	if got := js[[]int](s, `window.result`); got[0] == 0 || got[1] != 44+2*got[0] || got[2] != 3 || got[3] != 0 || got[4] != got[0] {
		t.Errorf("samples, bytes, seed, underruns, position: %v", got)
	}
}

// Every control has a name, and text of users stays text.
func TestNamesAndText(t *testing.T) {
	s := open(t, setup{})
	s.speak(`<img src=x onerror="window.bad=1"> says hello.`)
	s.whole()
	unnamed := js[[]string](s, `[...document.querySelectorAll("button, input, select, textarea, a, summary, [role=tab]")].filter((e) =>
		e.checkVisibility() && !(e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.length)).map((e) => e.outerHTML)`)
	if len(unnamed) > 0 {
		t.Errorf("without a name: %s", strings.Join(unnamed, "\n"))
	}
	if js[bool](s, `!!window.bad || document.querySelectorAll("img").length > 0`) {
		t.Error("text became markup")
	}
	small := js[[]string](s, `[...document.querySelectorAll("button, select, input:not([type=radio]):not([type=file])")].filter((e) => { const r = e.getBoundingClientRect(); return r.width > 0 && !e.matches(".link") && r.height < 36; }).map((e) => e.outerHTML)`)
	if len(small) > 0 {
		t.Errorf("too small to touch: %s", strings.Join(small, "\n"))
	}
}

// The built-in voice speaks whole texts, and words as they are typed.
func TestBuiltinVoice(t *testing.T) {
	model, err := synth.OpenBuiltin(synth.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	s := open(t, setup{model: server.FromModel(model)})
	// With a random seed an utterance might be cut at its longest length, which is not "done".
	js[bool](s, `(() => { const seed = document.querySelector("#seed"); seed.value = "1"; return seed.dispatchEvent(new Event("input", {bubbles: true})); })()`)
	s.speak("Hello there.")
	s.untilState(`state().selected?.state === "done" && state().speaker.player.state === "over"`)
	if got := eval[int](s, `state().selected.pcm.length`); got < 9600 {
		t.Errorf("%d samples", got)
	}
	js[bool](s, `(document.querySelectorAll("[name=mode]")[1].click(), document.querySelector("#text").value = "", true)`)
	s.do(chromedp.SendKeys(chromedp.CSS("#text"), "Good morning to you. "))
	s.untilState(`state().speech.take.live && state().speaker.player.position > 4800 && !state().speech.closed`)
	s.click("#finish")
	s.untilState(`state().selected.state === "done" && state().speaker.player.state === "over"`)
}

// Where voices can be imitated, one can be recorded or chosen; elsewhere there is
// nothing of it.
func TestCloning(t *testing.T) {
	if s := open(t, setup{}); !js[bool](s, `document.querySelector("#clone").hidden && !document.querySelector("#clone").firstChild`) {
		t.Error("there is a part for a voice that nobody can imitate")
	}
	able := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/models" {
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"data":[{"id":"base","task_type":"Base","languages":[],"instructions":false,"cloning":true}]}`)
		})
	}
	s := open(t, setup{wrap: able})
	s.until(`document.querySelector("#clone button")`)
	code := func() string { return s.text("#code") }
	s.click("#clone button")
	s.until(`/Recording 0:01/.test(document.querySelector("#clone").textContent)`)
	time.Sleep(time.Second)
	s.click("#clone button")
	s.until(`/ref_audio/.test(document.querySelector("#code").textContent)`)
	if got := code(); !strings.Contains(got, `"x_vector_only_mode": true`) {
		t.Errorf("code:\n%s", got)
	}
	s.do(chromedp.SendKeys(chromedp.CSS("#ref-text"), "It beeps."))
	s.write("Hello.")
	if got := code(); !strings.Contains(got, `"ref_text": "It beeps."`) || strings.Contains(got, "x_vector") {
		t.Errorf("code:\n%s", got)
	}
	js[bool](s, `(async () => {
		const bytes = new Uint8Array(44 + 96000), view = new DataView(bytes.buffer);
		"RIFF    WAVEfmt ".split("").forEach((c, i) => { bytes[i] = c.charCodeAt(0); });
		view.setUint32(4, 96036, true); view.setUint32(16, 16, true); view.setUint16(20, 1, true); view.setUint16(22, 1, true);
		view.setUint32(24, 16000, true); view.setUint32(28, 32000, true); view.setUint16(32, 2, true); view.setUint16(34, 16, true);
		"data".split("").forEach((c, i) => { bytes[36 + i] = c.charCodeAt(0); }); view.setUint32(40, 96000, true);
		const data = new DataTransfer();
		data.items.add(new File([bytes], "voice.wav", {type: "audio/wav"}));
		return document.querySelector("#clone").dispatchEvent(new DragEvent("drop", {bubbles: true, cancelable: true, dataTransfer: data}));
	})()`)
	s.until(`/0:03.0/.test(document.querySelector("#clone").textContent)`)
	if got := code(); strings.Contains(got, "It beeps.") || !strings.Contains(got, `"x_vector_only_mode": true`) {
		t.Errorf("the words of the recording are said of the file:\n%s", got)
	}
}
