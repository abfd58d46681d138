package logs

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"nodal/node"
)

// naive follows the same rules as Read, written for clarity. Read has to agree with it.
func naive(file string, opts node.LogOptions) string {
	entries := naiveEntries(file, opts.Stream)
	if opts.Tail != nil {
		entries = entries[naiveTail(entries, int(*opts.Tail)):]
	}
	var out strings.Builder
	open := map[string]bool{}
	for _, e := range entries {
		if e.time.Before(opts.Since) {
			continue
		}
		if opts.Timestamps && !open[e.stream] {
			out.WriteString(e.time.Format("2006-01-02T15:04:05.000000000Z07:00") + " ")
		}
		out.WriteString(e.content)
		open[e.stream] = e.partial
	}
	printed := out.String()
	if opts.LimitBytes != nil {
		printed = printed[:min(int64(len(printed)), *opts.LimitBytes)]
	}
	return printed
}

type naiveEntry struct {
	time    time.Time
	stream  string
	partial bool
	content string
}

func naiveEntries(file string, stream node.LogStream) []naiveEntry {
	var entries []naiveEntry
	for line := range strings.SplitAfterSeq(file, "\n") {
		e, ok := naiveParse(line)
		if ok && len(line) <= maxEntry &&
			(stream == node.LogAll || stream == node.LogStdout == (e.stream == "stdout")) {
			entries = append(entries, e)
		}
	}
	return entries
}

// naiveTail is the index of the first entry of the last n lines.
func naiveTail(entries []naiveEntry, n int) int {
	for i := len(entries) - 1; i >= 0; i-- {
		if !entries[i].partial || i == len(entries)-1 {
			if n == 0 {
				return i + 1
			}
			n--
		}
	}
	return 0
}

func naiveParse(line string) (e naiveEntry, ok bool) {
	if strings.HasPrefix(line, "{") {
		return naiveDocker(line)
	}
	fields := strings.SplitN(line, " ", 4)
	if len(fields) < 4 || !naiveTime(&e.time, fields[0]) {
		return e, false
	}
	e.stream, e.content = fields[1], fields[3]
	if tag, _, _ := strings.Cut(fields[2], ":"); tag == "P" {
		e.partial = true
		e.content = strings.TrimSuffix(e.content, "\n")
	}
	return e, e.stream == "stdout" || e.stream == "stderr"
}

func naiveDocker(line string) (e naiveEntry, ok bool) {
	var record struct{ Log, Stream, Time string }
	if json.Unmarshal([]byte(line), &record) != nil || !naiveTime(&e.time, record.Time) {
		return e, false
	}
	e.stream, e.content = record.Stream, record.Log
	e.partial = !strings.HasSuffix(e.content, "\n")
	return e, e.stream == "stdout" || e.stream == "stderr"
}

var wholeTime = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d([.,]\d+)?[Z+-]`)

// naiveTime refuses hours of one digit, which package time accepts.
func naiveTime(t *time.Time, text string) bool {
	return wholeTime.MatchString(text) && t.UnmarshalText([]byte(text)) == nil
}
