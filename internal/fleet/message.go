package fleet

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/mynah-tts/mynah/internal/batch"
)

// Names on the server.
const (
	workStream = "MYNAH_WORK"
	doneStream = "MYNAH_DONE"
	bucket     = "MYNAH_AUDIO"

	workSubject  = "mynah.work"
	doneSubject  = "mynah.done"
	begunSubject = "mynah.begun"
	helloSubject = "mynah.hello"
)

// modelKey names an identity in subjects.
func modelKey(id batch.Identity) string {
	data, err := json.Marshal(id)
	if err != nil {
		panic(err) // strings alone
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:10])
}

func workOf(model, job string, index int) string {
	return fmt.Sprintf("%s.%s.%s.%d", workSubject, model, job, index)
}

func doneOf(job string, index int) string { return fmt.Sprintf("%s.%s.%d", doneSubject, job, index) }

func begunOf(job string, index int) string { return fmt.Sprintf("%s.%s.%d", begunSubject, job, index) }

// place reads job and index off the end of a subject.
func place(subject string) (job string, index int, err error) {
	parts := strings.Split(subject, ".")
	if len(parts) < 4 {
		return "", 0, fmt.Errorf("fleet: %q is no subject of an order", subject)
	}
	index, err = strconv.Atoi(parts[len(parts)-1])
	if err != nil || index < 1 {
		return "", 0, fmt.Errorf("fleet: %q is no subject of an order", subject)
	}
	return parts[len(parts)-2], index, nil
}

// orderMessage is an order on the queue.
type orderMessage struct {
	Order *batch.Order `json:"order"`
	Tries int          `json:"tries"` // beginnings after which it is given up
}

// resultMessage is what came of an order.
type resultMessage struct {
	Digest  string        `json:"digest"` // of the order
	Worker  string        `json:"worker"`
	Error   string        `json:"error,omitempty"`
	Record  *batch.Record `json:"record,omitempty"`
	Aside   object        `json:"aside,omitzero"` // the record as a file, where the message has no room for it
	Audio   object        `json:"audio,omitzero"`
	Part    object        `json:"part,omitzero"`
	Samples int           `json:"samples,omitempty"` // of the engine
	Runes   int           `json:"runes,omitempty"`   // characters that were spoken
}

// object is a file in the object store.
type object struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// check finds what a result lacks that is none of a failure.
func (m *resultMessage) check(o *batch.Order) error {
	switch r := m.Record; {
	case m.Digest != o.Digest:
		return fmt.Errorf("it is of digest %.12s, wanted is %.12s", m.Digest, o.Digest)
	case m.Error != "":
		return nil
	case r == nil || m.Audio.Name == "" || o.Part && m.Part.Name == "":
		return fmt.Errorf("it has no file")
	case r.SampleRate != o.SampleRate || r.Bytes != m.Audio.Bytes || r.Samples < 0 || r.Error != "":
		return fmt.Errorf("its record does not go with its file")
	}
	return nil
}

const (
	// smallMessage is up to how many bytes a message is sent as it is.
	smallMessage = 16 << 10

	// maxUnpacked bounds what a message may become: text and reference at their longest,
	// with every character escaped.
	maxUnpacked = 16 << 20

	encodingHeader = "Content-Encoding"
)

// pack puts a value into a message.
func pack(subject string, v any) (*nats.Msg, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	m := nats.NewMsg(subject)
	m.Data = data
	if len(data) <= smallMessage {
		return m, nil
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	m.Data = b.Bytes()
	m.Header.Set(encodingHeader, "gzip")
	return m, nil
}

// unpack reads a value from a message.
func unpack(header nats.Header, data []byte, v any) error {
	switch e := header.Get(encodingHeader); e {
	case "":
	case "gzip":
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return fmt.Errorf("fleet: message of %d bytes: %w", len(data), err)
		}
		if data, err = io.ReadAll(io.LimitReader(z, maxUnpacked+1)); err != nil {
			return fmt.Errorf("fleet: packed message: %w", err)
		}
		if len(data) > maxUnpacked {
			return fmt.Errorf("fleet: packed message of more than %d bytes", maxUnpacked)
		}
	default:
		return fmt.Errorf("fleet: message in encoding %.20q, allowed is gzip", e)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("fleet: message of %d bytes: %w", len(data), err)
	}
	return nil
}
