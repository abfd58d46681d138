package logs

import (
	"bytes"
	"time"
)

const secondLen = len("2006-01-02T15:04:05")

// stamp is the timestamp of one entry, as a time and as the text it came from.
type stamp struct {
	unix int64 // seconds
	nano int64
	text []byte
	zone int // index in text where the time zone begins
}

// before reports whether s is older than t.
func (s *stamp) before(t time.Time) bool {
	if unix := t.Unix(); s.unix != unix {
		return s.unix < unix
	}
	return s.nano < int64(t.Nanosecond())
}

// appendTo prints the stamp with all nine digits of its fraction: runtimes leave
// out trailing zeros, and readers want columns that line up.
func (s *stamp) appendTo(b []byte) []byte {
	const zeros = "000000000"
	digits := s.text[min(secondLen+1, s.zone):s.zone]
	digits = digits[:min(len(digits), len(zeros))]
	b = append(b, s.text[:secondLen]...)
	b = append(b, '.')
	b = append(b, digits...)
	b = append(b, zeros[len(digits):]...)
	switch zone := s.text[s.zone:]; string(zone) {
	case "+00:00", "-00:00":
		return append(b, 'Z')
	default:
		return append(b, zone...)
	}
}

// clock parses timestamps. Neighbours in a log mostly share their second and
// always their zone, so it remembers those of the last one and then has only the
// fraction to read: a full parse of every line would halve the throughput.
type clock struct {
	second []byte
	zone   []byte
	unix   int64
}

func (c *clock) parse(text []byte) (stamp, bool) {
	if len(text) <= secondLen {
		return stamp{}, false
	}
	s := stamp{text: text}
	s.nano, s.zone = fraction(text)
	second, zone := text[:secondLen], text[s.zone:]
	if !bytes.Equal(second, c.second) || !bytes.Equal(zone, c.zone) {
		// Package time lets an hour of one digit pass; then this is no zone.
		var t time.Time
		if !bytes.ContainsAny(zone[:min(len(zone), 1)], "Z+-") || t.UnmarshalText(text) != nil {
			return stamp{}, false
		}
		c.second = append(c.second[:0], second...)
		c.zone = append(c.zone[:0], zone...)
		c.unix = t.Unix()
	}
	s.unix = c.unix
	return s, true
}

// fraction reads the digits that follow the second, if there are any, and
// returns the index after them. Digits beyond the nanosecond are passed over.
func fraction(text []byte) (nano int64, end int) {
	if point := text[secondLen]; point != '.' && point != ',' {
		return 0, secondLen
	}
	unit := int64(time.Second)
	for end = secondLen + 1; end < len(text); end++ {
		digit := text[end] - '0'
		if digit > 9 {
			break
		}
		unit /= 10
		nano += int64(digit) * unit
	}
	if end == secondLen+1 {
		return 0, secondLen // a point without digits is no fraction
	}
	return nano, end
}
