package nodelog

import (
	"bytes"
	"time"
)

// stampOf returns the time at the beginning of a line of the agent or of containerd: time=… as log/slog and logrus write
// it, or the field time of JSON.
func stampOf(line []byte) (time.Time, bool) {
	for _, head := range []string{`time="`, `time=`, `{"time":"`} {
		if rest, ok := bytes.CutPrefix(line, []byte(head)); ok {
			end := bytes.IndexAny(rest, "\" \n")
			if end < 0 {
				return time.Time{}, false
			}
			at, err := time.Parse(time.RFC3339Nano, string(rest[:end]))
			return at, err == nil
		}
	}
	return time.Time{}, false
}
