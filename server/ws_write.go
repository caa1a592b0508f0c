package server

import (
	"errors"
	"net"
	"time"

	"github.com/gorilla/websocket"
)

// write sends what is in the outbox, and pings, until the connection is to end; then
// what is left, and why it ends.
func (c *socket) write() {
	defer c.guard()
	ping := time.NewTicker(c.limits.PingInterval)
	defer ping.Stop()
	idle := time.NewTimer(c.patient)
	defer idle.Stop()
	refusing := c.server.refusing
	for !c.finished() {
		select { // also while there is always something to send
		case <-ping.C:
			c.transmit(outgoing{kind: websocket.PingMessage})
		default:
		}
		if m, ok := c.out.take(); ok {
			c.transmit(m)
			continue
		}
		select {
		case <-c.out.ready:
		case <-ping.C:
			c.transmit(outgoing{kind: websocket.PingMessage})
		case <-idle.C:
			left := c.patient - c.dialect.idle()
			if left <= 0 {
				c.dialect.idled()
			}
			idle.Reset(max(left, time.Millisecond))
		case <-refusing:
			refusing = nil
			c.dialect.drain()
		case <-c.over:
		}
	}
	c.close()
}

// transmit sends one message within its deadline. A failure ends the connection.
func (c *socket) transmit(m outgoing) bool {
	most := c.limits.WriteTimeout
	if c.finished() && c.ending.drop {
		most = min(most, closingTimeout)
	}
	var err error
	if deadline := time.Now().Add(most); m.kind == websocket.PingMessage || m.kind == websocket.PongMessage {
		err = c.conn.WriteControl(m.kind, m.data, deadline)
	} else {
		_ = c.conn.SetWriteDeadline(deadline)
		err = c.conn.WriteMessage(m.kind, m.data)
		c.out.sent(m)
	}
	switch {
	case err == nil && m.kind != websocket.PingMessage:
		c.alive() // taken by the client, or by the network on its way there
	case timedOut(err):
		c.finish(closedSlow(slowWrite))
		c.conn.Close() // nothing can follow half a message
	case err != nil:
		c.finish(closedGone)
		c.conn.Close()
	}
	return err == nil
}

// close sends what is left and the reason of the end. A client that hears what it is
// sent has the time for it.
func (c *socket) close() {
	limits := c.server.opts.Limits
	const second = 2 * 24000 // bytes of audio in the usual format
	last := time.Now().Add(limits.LagTimeout + time.Duration(limits.PendingBytes)*time.Second/second)
	for time.Now().Before(last) && !isClosed(c.gone) {
		if c.server.stop.Err() != nil { // so does the server, and not for long
			last = earlier(last, time.Now().Add(closingTimeout))
		}
		m, ok := c.out.take()
		if !ok {
			break
		}
		if !c.transmit(m) {
			return
		}
	}
	if c.ending.code == websocket.CloseAbnormalClosure {
		return // which is never sent
	}
	answer := closingTimeout
	if !c.ending.drop {
		answer = answerTimeout
	}
	c.expect(answer, true)
	_ = c.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(c.ending.code, c.ending.reason), time.Now().Add(closingTimeout))
}

// timedOut tells whether a deadline has passed; package websocket has errors of its own
// for that.
func timedOut(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
