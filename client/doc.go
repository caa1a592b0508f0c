// Package client speaks through a Mynah server: texts over HTTP, texts in pieces over a
// WebSocket.
//
//	c := &client.Client{BaseURL: "http://127.0.0.1:8080"}
//	speech, err := c.Speak(ctx, client.Request{Text: "Hello there.", Format: "wav"})
//	if err != nil {
//		return err
//	}
//	defer speech.Close()
//	_, err = io.Copy(file, speech)
//
// Audio arrives as it is computed. Reading ends with io.EOF only if all of the text was
// spoken: audio that was cut ends with [ErrTruncated], a connection that broke with another
// error; this needs the trailers of HTTP, which some proxies drop: behind those every speech
// ends with an error. What a server refuses is an [*Error]. A server that is too busy is asked
// again after the time that it names, as long as nothing was heard. One that does not begin
// to answer within 5 minutes, or [Client.AnswerTimeout], is given up with [ErrNoAnswer].
//
// All methods take a context, which also ends what was begun with it.
package client
