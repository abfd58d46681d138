package wire

import (
	"errors"
	"io"
)

// ErrEnough ends what is written to a Cut.
var ErrEnough = errors.New("the answer is as long as it may be")

// Cut passes on as many bytes as it may, and ends a longer answer with a note.
type Cut struct {
	To   io.Writer
	Left int64
	Note string // empty if the caller knows that the answer may be cut
}

func (c *Cut) Write(p []byte) (int, error) {
	if int64(len(p)) <= c.Left {
		c.Left -= int64(len(p))
		return c.To.Write(p)
	}
	n, err := c.To.Write(p[:c.Left])
	if err != nil {
		return n, err
	}
	c.Left = 0
	_, _ = io.WriteString(c.To, c.Note) // the answer ends here anyway
	return n, ErrEnough
}
