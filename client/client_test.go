package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"go.uber.org/goleak"

	"github.com/mynah-tts/mynah/server"
	"github.com/mynah-tts/mynah/synth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs a server with the built-in voice, and returns a client of it.
func serve(tb testing.TB, opts server.Options) *Client {
	tb.Helper()
	model, err := synth.OpenBuiltin(synth.Options{Threads: 1})
	if err != nil {
		tb.Fatal(err)
	}
	s, err := server.New(opts)
	if err != nil {
		tb.Fatal(err)
	}
	if err := s.Use(context.Background(), server.FromModel(model)); err != nil {
		tb.Fatal(err)
	}
	host := httptest.NewServer(s)
	transport := &http.Transport{}
	tb.Cleanup(func() {
		transport.CloseIdleConnections()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Shutdown(ctx)
		host.Close()
		model.Close()
	})
	c := &Client{BaseURL: host.URL, HTTPClient: &http.Client{Transport: transport}}
	if len(opts.Keys) > 0 {
		c.Key = opts.Keys[0]
	}
	return c
}

// answering returns a client of a server that answers as a function does.
func answering(t *testing.T, answer http.HandlerFunc) *Client {
	host := httptest.NewServer(answer)
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		host.Close()
	})
	return &Client{BaseURL: host.URL, HTTPClient: &http.Client{Transport: transport}}
}

func seed(n int64) *int64 { return &n }

const hello = "Hello there, good morning."

func TestSpeak(t *testing.T) {
	c := serve(t, server.Options{Keys: []string{"sk-test"}})
	c.BaseURL += "/v1/" // as other clients want it
	speak := func(r Request) ([]byte, *Speech) {
		t.Helper()
		s, err := c.Speak(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		data, err := io.ReadAll(s)
		if err != nil {
			t.Fatal(err)
		}
		return data, s
	}
	pcm, s := speak(Request{Text: hello, Seed: seed(5)})
	if len(pcm) == 0 || len(pcm)%3840 != 0 || s.Result().Frames != len(pcm)/3840 || s.Result().FinishReason != Stop {
		t.Errorf("%d bytes, %+v", len(pcm), s.Result())
	}
	if i := s.Info; i.Seed != 5 || i.Voice != "lark" || i.SampleRate != 24000 || i.ContentType != "audio/pcm" || i.TTFA < 0 || i.RequestID == "" {
		t.Errorf("%+v", i)
	}
	if wav, _ := speak(Request{Text: hello, Seed: seed(5), Format: "wav", Voice: "LARK", Language: "auto", Model: "tts-1"}); !bytes.Equal(wav[44:], pcm) {
		t.Errorf("%d bytes of wav for %d of pcm", len(wav), len(pcm))
	}
	slow, s := speak(Request{Text: hello, Seed: seed(5), Speed: 0.5, SampleRate: 8000, Extra: map[string]any{"nonsense": 1}})
	if wanted := len(pcm) * 2 / 3; len(slow) < wanted*9/10 || len(slow) > wanted*11/10 || s.Info.SampleRate != 8000 || s.Info.Ignored != "nonsense" {
		t.Errorf("%d bytes, %d Hz, ignored %q", len(slow), s.Info.SampleRate, s.Info.Ignored)
	}
}

// Samples are those of the bytes, however both are cut.
func TestSamples(t *testing.T) {
	data := make([]byte, 1000)
	var want []int16
	for i := range data {
		data[i] = byte(i * 7)
		if i%2 == 1 {
			want = append(want, int16(uint16(data[i-1])|uint16(data[i])<<8))
		}
	}
	for name, body := range map[string]io.Reader{
		"whole": bytes.NewReader(data), "by bytes": iotest.OneByteReader(bytes.NewReader(data)), "error with data": iotest.DataErrReader(bytes.NewReader(data)),
	} {
		for _, size := range []int{1, 3, 4096} {
			if name != "whole" && size != 1 { // the other readers can be read once
				continue
			}
			s := &Speech{ctx: context.Background(), answer: &http.Response{Body: io.NopCloser(body), Trailer: http.Header{"X-Mynah-Finish-Reason": {"stop"}}}}
			if r, ok := body.(*bytes.Reader); ok {
				_, _ = r.Seek(0, io.SeekStart)
			}
			var got []int16
			buf := make([]int16, size)
			for {
				n, err := s.Samples(buf)
				got = append(got, buf[:n]...)
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s by %d: %d samples, want %d", name, size, len(got), len(want))
			}
		}
	}
	s := &Speech{ctx: context.Background(), answer: &http.Response{Body: io.NopCloser(strings.NewReader("abc")), Trailer: http.Header{"X-Mynah-Finish-Reason": {"stop"}}}}
	buf := make([]int16, 8)
	if n, err := s.Samples(buf); n != 1 || err != nil {
		t.Error(n, err)
	}
	if n, err := s.Samples(buf); n != 0 || err != io.ErrUnexpectedEOF {
		t.Error(n, err)
	}
}

func TestRefusals(t *testing.T) {
	c := serve(t, server.Options{Keys: []string{"sk-test"}})
	for _, tc := range []struct {
		request            Request
		status             int
		code, param, words string
	}{
		{Request{Text: "a", Voice: "nobody"}, 400, "voice_not_found", "voice", "allowed are lark, martin"},
		{Request{Text: "a", Model: "gpt-5"}, 404, "model_not_found", "model", "gpt-5"},
		{Request{Text: ""}, 400, "invalid_value", "input", "nothing to say"},
		{Request{Text: "a", Format: "ogg"}, 400, "invalid_value", "response_format", "ogg"},
	} {
		_, err := c.Speak(context.Background(), tc.request)
		var e *Error
		if !errors.As(err, &e) || e.Status != tc.status || e.Code != tc.code || e.Param != tc.param || !strings.Contains(err.Error(), tc.words) {
			t.Errorf("%+v: %v", tc.request, err)
		}
		if stream, err := c.Stream(context.Background(), Request{Format: tc.request.Format, Voice: tc.request.Voice, Model: tc.request.Model}); tc.request.Text != "" {
			if !errors.As(err, &e) || e.Code != tc.code {
				t.Errorf("%+v by a stream: %v", tc.request, err)
			}
		} else if err == nil {
			stream.Close()
		}
	}
	c.Key = "sk-wrong"
	var e *Error
	if _, err := c.Speak(context.Background(), Request{Text: "a"}); !errors.As(err, &e) || e.Status != 401 {
		t.Error(err)
	}
	if _, err := c.Stream(context.Background(), Request{}); !errors.As(err, &e) || e.Status != 401 || e.Code != "invalid_api_key" {
		t.Error(err)
	}
	if _, err := c.Speak(context.Background(), Request{Text: "a", Extra: map[string]any{"x": func() {}}}); err == nil {
		t.Error("a function was sent")
	}
	if _, err := c.Stream(context.Background(), Request{Text: "a"}); err == nil {
		t.Error("a stream took a text")
	}
	for _, url := range []string{"", "/v1", "ftp://localhost", "http://", "http:/localhost", "http://127.0.0.1:1", "127.0.0.1:1"} {
		c := &Client{BaseURL: url}
		if _, err := c.Voices(context.Background()); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", url, err)
		}
		if _, err := c.Stream(context.Background(), Request{}); err == nil {
			t.Errorf("%q is a stream", url)
		}
	}
}

// An address without a scheme is one of HTTP, and a password is in no message.
func TestAddress(t *testing.T) {
	for given, want := range map[string]string{
		"http://a:80/v1/": "http://a:80/x", "https://a/b": "https://a/b/x", "HTTPS://a": "https://a/x", "127.0.0.1:8080": "http://127.0.0.1:8080/x",
		"localhost:8080/v1": "http://localhost:8080/x", "a": "http://a/x", "[::1]:80": "http://[::1]:80/x", "me:se:cret@a:80": "http://me:se%3Acret@a:80/x",
	} {
		if u, err := (&Client{BaseURL: given}).endpoint("/x"); err != nil || u.String() != want {
			t.Errorf("%q: %v, %v, want %s", given, u, err, want)
		}
	}
	for _, given := range []string{"", "/v1", "http:a:80", "http:/a", "https:", "ws://a", "localhost:port", "http://me:se%zzcret@a"} {
		if u, err := (&Client{BaseURL: given}).endpoint("/x"); !errors.Is(err, ErrBaseURL) || strings.Contains(err.Error(), "cret") {
			t.Errorf("%q: %v, %v", given, u, err)
		}
	}
}

// What is no Mynah server, or one behind another address, says why in one line.
func TestOtherServers(t *testing.T) {
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	moved := httptest.NewServer(http.RedirectHandler(secure.URL+"/", http.StatusMovedPermanently))
	defer moved.Close()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "9999999999999")
		http.Error(w, "<html>\nno", http.StatusBadGateway)
	}))
	defer page.Close()
	host := func(url string) string { return strings.SplitN(url, "://", 2)[1] }
	for _, c := range []struct {
		name, base, want string
	}{
		{"HTTPS without its scheme", host(secure.URL), "server: 400 Bad Request: Client sent an HTTP request to an HTTPS server. (400)"},
		{"a page", host(page.URL), "server: 502 Bad Gateway (502)"},
		{"a redirection", moved.URL, "client: " + host(moved.URL) + " sends to " + secure.URL + ": that is the address to give"},
	} {
		tls := secure.Client()
		_, err := (&Client{BaseURL: c.base, HTTPClient: tls}).Speak(context.Background(), Request{Text: "a"})
		if fmt.Sprint(err) != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
		var e *Error
		if errors.As(err, &e) && e.Status == http.StatusBadGateway && e.RetryAfter != 365*24*time.Hour {
			t.Errorf("%s: a wait of %v", c.name, e.RetryAfter)
		}
		tls.CloseIdleConnections()
	}
}

func TestLists(t *testing.T) {
	c := serve(t, server.Options{Voices: map[string]string{"alloy": "lark"}})
	voices, err := c.Voices(context.Background())
	if err != nil || fmt.Sprint(voices) != "[{lark lark preset } {martin martin preset } {alloy alloy alias lark}]" {
		t.Errorf("%v, %v", voices, err)
	}
	models, err := c.Models(context.Background())
	if err != nil || len(models) != 4 || models[0].ID != "english-built-in" || models[1].Root != models[0].ID || models[0].SampleRate != 24000 || !slices.Contains(models[0].Formats, "mp3") {
		t.Errorf("%+v, %v", models, err)
	}
}

// Whatever is not the whole of a text does not end with io.EOF.
func TestNotWhole(t *testing.T) {
	audio := func(w http.ResponseWriter) {
		w.Header().Set("X-Mynah-Seed", "1")
		w.Header().Set("Trailer", "X-Mynah-Finish-Reason")
		_, _ = w.Write(make([]byte, 100))
	}
	for _, tc := range []struct {
		name   string
		answer http.HandlerFunc
		words  string
	}{
		{"cut", func(w http.ResponseWriter, _ *http.Request) {
			audio(w)
			w.Header().Set("X-Mynah-Finish-Reason", "length")
		}, "cut before the text had ended"},
		{"no trailer", func(w http.ResponseWriter, _ *http.Request) { audio(w) }, "no finish reason"},
		{"no frames", func(w http.ResponseWriter, _ *http.Request) {
			audio(w)
			w.Header().Set("X-Mynah-Finish-Reason", "stop")
			w.Header().Set(http.TrailerPrefix+"X-Mynah-Frames", "0")
		}, "sent no audio"},
		{"no bytes", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Mynah-Seed", "1")
			w.Header().Set("Trailer", "X-Mynah-Finish-Reason")
			w.WriteHeader(200)
			w.Header().Set("X-Mynah-Finish-Reason", "stop")
		}, "sent no audio"},
		{"another end", func(w http.ResponseWriter, _ *http.Request) {
			audio(w)
			w.Header().Set("X-Mynah-Finish-Reason", "cancelled")
		}, "cancelled"},
		{"broken off", func(w http.ResponseWriter, _ *http.Request) {
			audio(w)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, "broke off"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := answering(t, tc.answer).Speak(context.Background(), Request{Text: "a"})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			data, err := io.ReadAll(s)
			if err == nil || !strings.Contains(err.Error(), tc.words) || len(data) != 100 && tc.name != "no bytes" || errors.Is(err, ErrTruncated) != (tc.name == "cut") {
				t.Errorf("%d bytes, %v", len(data), err)
			}
			if _, again := s.Read(make([]byte, 1)); again != err {
				t.Errorf("then %v", again)
			}
		})
	}
	if _, err := answering(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }).Speak(context.Background(), Request{Text: "a"}); err == nil || !strings.Contains(err.Error(), "no Mynah server") {
		t.Error(err)
	}
	if s, err := serve(t, server.Options{}).Speak(context.Background(), Request{Text: hello, MaxFrames: 2}); err != nil {
		t.Error(err)
	} else if data, err := io.ReadAll(s); !errors.Is(err, ErrTruncated) || len(data) != 2*3840 || s.Result().FinishReason != Length {
		t.Errorf("%d bytes, %v", len(data), err)
	} else {
		s.Close()
	}
}

func TestCancel(t *testing.T) {
	c := serve(t, server.Options{})
	long := strings.Repeat("This sentence is one of very many. ", 100)
	ctx, cancel := context.WithCancel(context.Background())
	s, err := c.Speak(ctx, Request{Text: long})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := io.ReadFull(s, make([]byte, 3840)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.Copy(io.Discard, s); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	s2, err := c.Speak(context.Background(), Request{Text: long})
	if err != nil {
		t.Fatal(err)
	}
	s2.Close()
	if _, err := s2.Read(make([]byte, 1)); err == nil || err == io.EOF {
		t.Error(err)
	}
	if _, err := c.Speak(ctx, Request{Text: "a"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// User and password of an address are for what stands before the server, on every route.
func TestUserOfAddress(t *testing.T) {
	var given []string
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given = append(given, r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusTeapot)
	}))
	defer host.Close()
	for _, key := range []string{"", "sk-test"} {
		c := &Client{BaseURL: strings.Replace(host.URL, "http://", "http://me:se:cret@", 1), Key: key}
		want := "Basic bWU6c2U6Y3JldA=="
		if key != "" {
			want = "Bearer sk-test"
		}
		given = nil
		_, spoken := c.Speak(context.Background(), Request{Text: "Hello."})
		_, streamed := c.Stream(context.Background(), Request{})
		var refused *Error
		if !errors.As(spoken, &refused) || !errors.As(streamed, &refused) || !slices.Equal(given, []string{want, want}) {
			t.Errorf("key %q: %v and %v, sent was %q", key, spoken, streamed, given)
		}
	}
}
