package wire

import (
	"net/http"
	"time"
)

// WriteTimeout bounds how long one write may wait for a client that reads slowly.
const WriteTimeout = time.Minute

// InTime gives up on a client that does not read: its stream would hold memory and a
// place for as long as the connection stands. The deadline covers the write alone, since
// HTTP/2 ends a stream whose deadline passes, even in a silence.
func InTime(control *http.ResponseController, write func() error) error {
	return by(control, time.Now().Add(WriteTimeout), write)
}

func by(control *http.ResponseController, deadline time.Time, write func() error) error {
	_ = control.SetWriteDeadline(deadline)
	err := write()
	_ = control.SetWriteDeadline(time.Time{})
	return err
}

// EndInTime sets the deadline for what net/http itself writes after the handler returns.
func EndInTime(control *http.ResponseController) {
	_ = control.SetWriteDeadline(time.Now().Add(WriteTimeout))
}

// mostWrite bounds what is written under one deadline, so that a slow client has time for a large answer.
const mostWrite = 256 << 10

// mostAnswer bounds how long a client may take for the whole of an answer in one piece.
const mostAnswer = 10 * time.Minute

// Prompt gives up on a client that does not read, or too slowly for the answer to end. It is for answers in one piece.
func Prompt(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		defer EndInTime(control)
		next.ServeHTTP(prompt{w, control, time.Now().Add(mostAnswer)}, r)
	})
}

type prompt struct {
	http.ResponseWriter
	control *http.ResponseController
	end     time.Time // of the whole answer
}

// Unwrap is for http.ResponseController.
func (p prompt) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p prompt) Write(b []byte) (written int, err error) {
	for {
		piece := b[:min(len(b), mostWrite)]
		deadline := time.Now().Add(WriteTimeout)
		if p.end.Before(deadline) {
			deadline = p.end
		}
		err := by(p.control, deadline, func() error {
			n, err := p.ResponseWriter.Write(piece)
			written += n
			return err
		})
		if b = b[len(piece):]; err != nil || len(b) == 0 {
			return written, err
		}
	}
}
