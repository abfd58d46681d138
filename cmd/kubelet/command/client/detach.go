package client

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// usualDetachKeys are those of docker and podman.
const usualDetachKeys = "ctrl-p,ctrl-q"

// errDetached ends the streams of a process that the user has left.
var errDetached = errors.New("detached")

// keysOf reads a sequence of keys, such as ctrl-p,ctrl-q. None disables it.
func keysOf(text string) (keys []byte, err error) {
	if text == "" {
		return nil, nil
	}
	for _, key := range strings.Split(text, ",") {
		name, control := strings.CutPrefix(strings.ToLower(key), "ctrl-")
		switch {
		case !control && len(key) == 1:
			keys = append(keys, key[0])
		case control && len(name) == 1 && (name[0] >= 'a' && name[0] <= 'z' || strings.Contains(`@[\]^_`, name)):
			keys = append(keys, strings.ToUpper(name)[0]&0x1f)
		default:
			return nil, misuse("--detach-keys %s: want keys such as ctrl-p,ctrl-q, got %q", text, key)
		}
	}
	return keys, nil
}

// detacher passes keys on until the sequence comes. It holds back what may be the beginning of the sequence.
type detacher struct {
	in    io.Reader
	keys  []byte
	met   int    // how many keys of the sequence have come
	ready []byte // what may be passed on
	end   error  // comes after that
	leave func() // runs when the sequence has come
}

var _ io.Reader = (*detacher)(nil)

func (d *detacher) Read(p []byte) (int, error) {
	for len(d.ready) == 0 && d.end == nil {
		buffer := make([]byte, len(p))
		n, err := d.in.Read(buffer)
		d.end = err
		for _, key := range buffer[:n] {
			if d.take(key) {
				d.end = errDetached
				break
			}
		}
		if err != nil && d.end != errDetached { // what looked like a beginning was none
			d.ready = append(d.ready, d.keys[:d.met]...)
		}
	}
	if len(d.ready) > 0 {
		n := copy(p, d.ready)
		d.ready = d.ready[n:]
		return n, nil
	}
	if d.end == errDetached {
		d.leave()
	}
	return 0, d.end
}

// take takes one key and reports whether it completes the sequence.
func (d *detacher) take(key byte) bool {
	if key != d.keys[d.met] {
		d.ready = append(d.ready, d.keys[:d.met]...)
		d.met = 0
	}
	if key != d.keys[d.met] {
		d.ready = append(d.ready, key)
		return false
	}
	d.met++
	return d.met == len(d.keys)
}

// left tells the user what goes on.
func (s *session) left(pod string) {
	fmt.Fprintf(s.Err, "\ndetached from pod %s\n", printable(pod))
}
