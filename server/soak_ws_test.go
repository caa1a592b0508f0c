package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// The clients of the soak that use WebSockets.

// soakPatience is how long one of them waits for a message.
const soakPatience = 60 * time.Second

// dialSocket connects. What it returns is at its first event.
func (s *soak) dialSocket() (*websocket.Conn, error) {
	conn, resp, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(s.url, "http")+socketPath, nil)
	if err != nil {
		if resp != nil && resp.StatusCode == 503 {
			return nil, errNoPlace
		}
		return nil, err
	}
	_ = conn.SetReadDeadline(time.Now().Add(soakPatience))
	if err := sayAll(conn, `{"type":"session.config","seed":5}`); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

func sayAll(conn *websocket.Conn, messages ...string) error {
	for _, m := range messages {
		if err := conn.WriteMessage(websocket.TextMessage, []byte(m)); err != nil {
			return err
		}
	}
	return nil
}

// pieceOf is a message with text.
func pieceOf(text string) string {
	m, _ := json.Marshal(map[string]string{"type": "input.text", "text": text})
	return string(m)
}

// pieces are the messages of a text, cut anywhere.
func pieces(text string, random *rand.Rand) []string {
	var all []string
	for _, p := range cutAnywhere(text, random) {
		all = append(all, pieceOf(p))
	}
	return append(all, `{"type":"input.done"}`)
}

// soakEar hears a connection.
type soakEar struct {
	conn  *websocket.Conn
	audio []byte // of the utterance under way
}

// until reads to the next event of a type, and keeps the audio before it.
func (e *soakEar) until(kind string) (socketEvent, error) {
	for {
		_ = e.conn.SetReadDeadline(time.Now().Add(soakPatience))
		frame, data, err := e.conn.ReadMessage()
		if err != nil {
			return socketEvent{}, err
		}
		if frame == websocket.BinaryMessage {
			e.audio = append(e.audio, data...)
			if kind == "" {
				return socketEvent{}, nil
			}
			continue
		}
		var event socketEvent
		if err := json.Unmarshal(data, &event); err != nil {
			return event, err
		}
		switch {
		case event.Type == kind:
			return event, nil
		case event.Type == eventProblem && event.Code == "queue_full":
			return event, errNoPlace
		case event.Type == eventProblem && kind != eventProblem:
			return event, fmt.Errorf("%s: %s", event.Code, event.Message)
		}
	}
}

// utterance hears one utterance of soakText to its end.
func (s *soak) utterance(ear *soakEar) error {
	ear.audio = nil
	end, err := ear.until(eventEnd)
	if err != nil {
		return err
	}
	if end.Finish != "stop" || !bytes.Equal(ear.audio, s.piece) {
		return fmt.Errorf("utterance %d: finish %s, %d bytes, want %d", *end.Utterance, end.Finish, len(ear.audio), len(s.piece))
	}
	return nil
}

// leaveInOrder closes a session, and wants to be told so.
func leaveInOrder(ear *soakEar) error {
	if err := sayAll(ear.conn, `{"type":"session.close"}`); err != nil {
		return err
	}
	_, err := ear.until("never")
	if !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
		return fmt.Errorf("closed with %w", err)
	}
	return nil
}

// socketFixed is spoken to some times, with text in pieces.
func (s *soak) socketFixed(random *rand.Rand) error {
	conn, err := s.dialSocket()
	if err != nil {
		return err
	}
	defer conn.Close()
	ear := &soakEar{conn: conn}
	for range 1 + random.IntN(3) {
		for _, m := range pieces(soakText, random) {
			if err := sayAll(conn, m); err != nil {
				return err
			}
			time.Sleep(time.Duration(random.IntN(10)) * time.Millisecond)
		}
		if err := s.utterance(ear); err != nil {
			return err
		}
	}
	return leaveInOrder(ear)
}

// socketBargeIn interrupts a long text with another one, of which it hears all.
func (s *soak) socketBargeIn(random *rand.Rand) error {
	conn, err := s.dialSocket()
	if err != nil {
		return err
	}
	defer conn.Close()
	ear := &soakEar{conn: conn}
	for range 1 + random.IntN(3) {
		if err := sayAll(conn, pieceOf(strings.Repeat(soakLong, 20))); err != nil {
			return err
		}
		if _, err := ear.until(""); err != nil {
			return err
		}
		time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond)
		if err := sayAll(conn, append([]string{`{"type":"input.cancel"}`}, pieces(soakText, random)...)...); err != nil {
			return err
		}
		if end, err := ear.until(eventEnd); err != nil {
			return err
		} else if end.Finish != "cancelled" {
			return fmt.Errorf("finish %q, want cancelled", end.Finish)
		}
		if err := s.utterance(ear); err != nil {
			return err
		}
	}
	return leaveInOrder(ear)
}

// socketCancels takes back what it said again and again, and is heard after that.
func (s *soak) socketCancels(random *rand.Rand) error {
	conn, err := s.dialSocket()
	if err != nil {
		return err
	}
	defer conn.Close()
	for range 1 + random.IntN(8) {
		for range random.IntN(3) {
			if err := sayAll(conn, pieces("One of some texts. "+soakText, random)...); err != nil {
				return err
			}
		}
		time.Sleep(time.Duration(random.IntN(30)) * time.Millisecond)
		if err := sayAll(conn, `{"type":"input.cancel"}`); err != nil {
			return err
		}
	}
	if err := sayAll(conn, append([]string{`{"type":"session.config","seed":5}`}, pieces(soakText, random)...)...); err != nil {
		return err
	}
	ear := &soakEar{conn: conn}
	for {
		ear.audio = nil
		switch end, err := ear.until(eventEnd); {
		case err != nil:
			return err
		case end.Finish == "cancelled":
			continue
		case end.Finish == "stop" && bytes.Equal(ear.audio, s.piece):
			return leaveInOrder(ear)
		case end.Finish != "stop":
			return fmt.Errorf("utterance %d: finish %s", *end.Utterance, end.Finish)
		}
		// One that had ended before it was taken back.
	}
}

func (s *soak) socketVanishes(random *rand.Rand) error {
	conn, err := s.dialSocket()
	if err != nil {
		return err
	}
	defer reset(conn.NetConn().(*net.TCPConn))
	if err := sayAll(conn, pieceOf(strings.Repeat(soakLong, 1+random.IntN(40)))); err != nil {
		return err
	}
	if random.IntN(2) == 0 {
		_ = sayAll(conn, `{"type":"input.done"}`)
	}
	time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond)
	return nil
}

// socketMalformed repeats mistakes until it is closed.
func (s *soak) socketMalformed(random *rand.Rand) error {
	conn, err := s.dialSocket()
	if err != nil {
		return err
	}
	defer conn.Close()
	if random.IntN(4) == 0 { // no WebSocket any more, or a message without its end
		junk := make([]byte, 100)
		for i := range junk {
			junk[i] = byte(random.Uint32())
		}
		_, _ = conn.NetConn().Write(junk)
		_ = conn.SetReadDeadline(time.Now().Add(time.Duration(random.IntN(500)) * time.Millisecond))
		for err == nil {
			_, _, err = conn.ReadMessage()
		}
		return nil
	}
	mistakes := []string{"{", `[]`, `{"type":"input.shout"}`, `{"type":"input.text"}`, `{"type":"input.text","text":7}`, `{"type":"session.config","speed":9}`, `{"type":"session.config","voice":"bob"}`, "\xff"}
	for range maxMistakes {
		if err := conn.WriteMessage(1+random.IntN(2), []byte(mistakes[random.IntN(len(mistakes))])); err != nil {
			return err
		}
	}
	for n := 0; ; n++ {
		_, data, err := conn.ReadMessage()
		if websocket.IsCloseError(err, websocket.ClosePolicyViolation) && n >= maxMistakes {
			return nil
		}
		if err != nil {
			return fmt.Errorf("after %d messages, the last of them %s: %w", n, data, err)
		}
	}
}

func (s *soak) socketHuge(*rand.Rand) error {
	conn, err := s.dialSocket()
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = sayAll(conn, pieceOf(strings.Repeat("huge ", 1<<18)))
	for err == nil {
		_, _, err = conn.ReadMessage()
	}
	if !websocket.IsCloseError(err, websocket.CloseMessageTooBig) {
		return fmt.Errorf("closed with %w", err)
	}
	return nil
}

// socketNeverReads waits to be given up, or leaves before.
func (s *soak) socketNeverReads(random *rand.Rand) error {
	conn, err := s.dialSocket()
	if err != nil {
		return err
	}
	tcp := conn.NetConn().(*net.TCPConn)
	defer reset(tcp)
	_ = tcp.SetReadBuffer(4096)
	if err := sayAll(conn, `{"type":"session.config","sample_rate":48000,"speed":0.25}`, pieceOf(strings.Repeat(soakLong, 40)), `{"type":"input.done"}`); err != nil {
		return err
	}
	time.Sleep(s.stay(random))
	return nil
}
