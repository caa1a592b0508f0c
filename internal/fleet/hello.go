package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/mynah-tts/mynah/internal/batch"
)

// presence is what a worker says of itself.
type presence struct {
	Name     string         `json:"name"`
	Model    string         `json:"model"` // for people
	Identity batch.Identity `json:"identity"`
	Jobs     int            `json:"jobs"`
	Busy     map[string]int `json:"busy"` // orders being spoken, by job
}

// hello answers who asks for workers.
func (s *shift) hello(m *nats.Msg) {
	s.mu.Lock()
	p := presence{Name: s.Name, Model: s.Model, Identity: s.Identity, Jobs: s.Jobs, Busy: map[string]int{}}
	for job, orders := range s.busy {
		p.Busy[job] = len(orders)
	}
	s.mu.Unlock()
	if data, err := json.Marshal(p); err == nil {
		_ = m.Respond(data) // who asked asks again
	}
}

const (
	// helloTime is how long answers of workers are waited for.
	helloTime = 500 * time.Millisecond

	// mostWorkers bounds the answers that are read.
	mostWorkers = 10_000
)

// workers asks who is there.
func (l *Link) workers(ctx context.Context) ([]presence, error) {
	inbox := l.conn.NewInbox()
	sub, err := l.conn.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer sub.Unsubscribe()
	if err := l.conn.PublishRequest(helloSubject, inbox, nil); err != nil {
		return nil, err
	}
	var all []presence
	ctx, cancel := context.WithTimeout(ctx, helloTime)
	defer cancel()
	for len(all) < mostWorkers {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil { // the time is over, or nobody listens
			return all, nil
		}
		var p presence
		if json.Unmarshal(m.Data, &p) == nil && p.Name != "" {
			all = append(all, p)
		}
	}
	return all, nil
}

// describe words an identity.
func describe(id batch.Identity) string {
	p := id.Precision
	return fmt.Sprintf("checkpoint %.12s at precision %s/%s/%s, instruction level %s, version %s", id.Model, p.Talker, p.Predictor, p.Codec, id.Level, id.Version)
}

// differences words what others have in place of what is wanted, workers with the same
// differences together.
func differences(want batch.Identity, all []presence) string {
	names := map[string][]string{}
	for _, p := range all {
		var parts []string
		has := p.Identity
		if has.Model != want.Model {
			parts = append(parts, fmt.Sprintf("checkpoint %.12s (%s)", has.Model, p.Model))
		}
		if has.Precision != want.Precision {
			parts = append(parts, fmt.Sprintf("precision %s/%s/%s", has.Precision.Talker, has.Precision.Predictor, has.Precision.Codec))
		}
		if has.Level != want.Level {
			parts = append(parts, "instruction level "+has.Level)
		}
		if has.Version != want.Version {
			parts = append(parts, "version "+has.Version)
		}
		what := strings.Join(parts, ", ")
		names[what] = append(names[what], p.Name)
	}
	var words []string
	for _, what := range slices.Sorted(maps.Keys(names)) {
		who := names[what]
		slices.Sort(who)
		if len(who) > 3 {
			who = append(who[:3], fmt.Sprintf("%d more", len(who)-3))
		}
		words = append(words, strings.Join(who, ", ")+": "+what)
	}
	if len(words) == 0 {
		return "there are no workers at all"
	}
	return "there are " + strings.Join(words, "; ")
}
