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
	_ = control.SetWriteDeadline(time.Now().Add(WriteTimeout))
	err := write()
	_ = control.SetWriteDeadline(time.Time{})
	return err
}

// EndInTime sets the deadline for what net/http itself writes after the handler returns.
func EndInTime(control *http.ResponseController) {
	_ = control.SetWriteDeadline(time.Now().Add(WriteTimeout))
}
