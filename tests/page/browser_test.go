// Package page drives the page of mynah serve in a real Chromium: against the real server
// with an engine of tones. CHROMIUM names the browser, otherwise it is looked for.
package page

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/mynah-tts/mynah/server"
	"github.com/mynah-tts/mynah/synth"
)

// browser starts one Chromium for all tests; each test has a tab of its own.
var browser = sync.OnceValues(func() (context.Context, error) {
	path := os.Getenv("CHROMIUM")
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path == "" {
			path, _ = exec.LookPath(name)
		}
	}
	if path == "" {
		return nil, fmt.Errorf("no Chromium on PATH (apt-get install chromium)")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Flag("lang", "en"), chromedp.Flag("force-color-profile", "srgb"),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("use-fake-ui-for-media-stream", true), chromedp.Flag("use-fake-device-for-media-stream", true))
	ctx, _ := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, _ = chromedp.NewContext(ctx)
	return ctx, chromedp.Do(ctx)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if ctx, err := browser(); err == nil {
		_ = chromedp.Cancel(ctx)
	}
	os.Exit(code)
}

// site is a server and a tab that shows its page.
type site struct {
	t      *testing.T
	ctx    context.Context
	engine *engine
	server *server.Server
	http   *http.Server
	addr   string

	mu       sync.Mutex
	problems []string // what the console said
	conns    []net.Conn
}

type setup struct {
	width, height int
	dark          bool
	loading       bool // the engine is not there yet
	options       server.Options
	frame         time.Duration
	wrap          func(http.Handler) http.Handler
	path          string
	model         server.Engine // instead of tones
	patience      time.Duration // for the whole test, 3 minutes unless set
}

func open(t *testing.T, c setup) *site {
	t.Helper()
	parent, err := browser()
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, engine: &engine{kind: synth.CustomVoice, frame: c.frame}}
	if s.engine.frame == 0 {
		s.engine.frame = 20 * time.Millisecond
	}
	if s.server, err = server.New(c.options); err != nil {
		t.Fatal(err)
	}
	if c.model != nil {
		if err := s.server.Use(context.Background(), c.model); err != nil {
			t.Fatal(err)
		}
	} else if !c.loading {
		s.load()
	}
	var handler http.Handler = s.server
	if c.wrap != nil {
		handler = c.wrap(handler)
	}
	s.listen("127.0.0.1:0", handler)
	t.Cleanup(s.cut)
	tab, cancelTab := chromedp.NewContext(parent)
	t.Cleanup(cancelTab)
	ctx, cancel := context.WithTimeout(tab, cmp.Or(c.patience, 3*time.Minute))
	t.Cleanup(cancel)
	s.ctx = ctx
	s.watch()
	width, height := int64(c.width), int64(c.height)
	if width == 0 {
		width, height = 1280, 900
	}
	scheme := "light"
	if c.dark {
		scheme = "dark"
	}
	call(s, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width < 600})
	call(s, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: width < 600})
	call(s, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	s.do(chromedp.Navigate("http://" + s.addr + "/" + c.path))
	if !c.loading && c.path == "" {
		s.until(`document.querySelector("#status").dataset.state === "ready"`)
	}
	return s
}

func (s *site) load() {
	if err := s.server.Use(context.Background(), s.engine); err != nil {
		s.t.Fatal(err)
	}
	s.engine.set(func() { s.engine.spoken, s.engine.texts = nil, nil }) // the warm-up
}

func (s *site) listen(addr string, h http.Handler) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.addr = l.Addr().String()
	s.http = &http.Server{Handler: h}
	go s.http.Serve(&wire{Listener: l, site: s})
}

// wire remembers connections, so that they can be cut.
type wire struct {
	net.Listener
	site *site
}

func (w *wire) Accept() (net.Conn, error) {
	c, err := w.Listener.Accept()
	if err == nil {
		w.site.mu.Lock()
		w.site.conns = append(w.site.conns, c)
		w.site.mu.Unlock()
	}
	return c, err
}

// cut ends all connections, WebSockets included, and listens no more.
func (s *site) cut() {
	s.http.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.Close()
	}
	s.conns = nil
}

// watch keeps what the console says: the page is to say nothing.
func (s *site) watch() {
	err := chromedp.Listen(s.ctx, func(event any) {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			text := e.ExceptionDetails.Text
			if thrown := e.ExceptionDetails.Exception; thrown != nil {
				text += " " + thrown.Description
			}
			s.problems = append(s.problems, text)
		case *runtime.EventConsoleAPICalled:
			for _, a := range e.Args {
				s.problems = append(s.problems, string(a.Value)+a.Description)
			}
		}
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.problems) > 0 {
			s.t.Errorf("the console says %s", strings.Join(s.problems, "\n"))
		}
	})
}

func (s *site) do(steps ...chromedp.Action[chromedp.Void]) {
	s.t.Helper()
	if err := chromedp.Do(s.ctx, steps...); err != nil {
		s.t.Fatal(err)
	}
}

// call sends a command of the protocol.
func call[P, R any](s *site, command cdp.Command[P, R], params P) R {
	s.t.Helper()
	result, err := chromedp.Call(s.ctx, command, params)
	if err != nil {
		s.t.Fatal(err)
	}
	return result
}

// js returns the value of an expression, or of the promise that it is.
func js[T any](s *site, expression string) T {
	s.t.Helper()
	value, err := chromedp.Run(s.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		s.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// until waits for an expression of the page to be true.
func (s *site) until(expression string) {
	s.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !js[bool](s, "!!("+expression+")") {
		if time.Now().After(deadline) {
			s.t.Fatalf("never: %s\nstate: %s\nnotice: %s", expression, s.text("#phase"), s.text("#notice-text"))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// eval returns the value of an expression, in which state() is the page's.
func eval[T any](s *site, expression string) T {
	s.t.Helper()
	return js[T](s, `import("/page/app.js").then(({state}) => (`+expression+`))`)
}

// untilState waits for an expression of the page's state.
func (s *site) untilState(expression string) {
	s.t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for !eval[bool](s, "!!("+expression+")") {
		if time.Now().After(deadline) {
			s.t.Fatalf("never: %s\nphase: %s\nnotice: %s", expression, s.text("#phase"), s.text("#notice-text"))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (s *site) text(selector string) string {
	s.t.Helper()
	return js[string](s, fmt.Sprintf("document.querySelector(%q).textContent", selector))
}

func (s *site) click(selector string) {
	s.t.Helper()
	s.do(chromedp.Click(chromedp.CSS(selector)))
}

func (s *site) write(text string) {
	s.t.Helper()
	js[bool](s, fmt.Sprintf(`(() => { const t = document.querySelector("#text"); t.value = %q; return t.dispatchEvent(new Event("input", {bubbles: true})); })()`, text))
}

// speak writes a text and presses Speak.
func (s *site) speak(text string) {
	s.t.Helper()
	s.quiet()
	s.write(text)
	s.click("#speak")
}

// quiet stops what is being spoken or heard.
func (s *site) quiet() {
	s.t.Helper()
	js[bool](s, `(document.querySelector("#speak").hasAttribute("data-stop") && document.querySelector("#speak").click(), true)`)
	s.until(`!document.querySelector("#speak").hasAttribute("data-stop")`)
}

// shoot keeps a picture, if MYNAH_SHOTS names a folder for them.
func (s *site) shoot(name string) {
	s.t.Helper()
	dir := os.Getenv("MYNAH_SHOTS")
	if dir == "" {
		return
	}
	r := call(s, page.CaptureScreenshot, page.CaptureScreenshotParams{CaptureBeyondViewport: new(true)})
	if err := os.WriteFile(filepath.Join(dir, name+".png"), r.Data, 0o644); err != nil {
		s.t.Fatal(err)
	}
}
