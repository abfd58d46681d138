package journal

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
)

const (
	magic         = "nodal-record"
	formatVersion = "1"
)

// encode returns the contents of a file: a header line and the data.
//
//	nodal-record 1 5a1f03c7 11 "pods/default_web"
//
// The fields are the format's version, the checksum of all that follows it, the
// length of the data and the name. The name is there because a file's name may
// be shortened, and because a file that was moved must not pass for another.
func encode(name string, data []byte) []byte {
	body := append(fmt.Appendf(nil, "%d %q\n", len(data), name), data...)
	return append(fmt.Appendf(nil, "%s %s %s ", magic, formatVersion, checksum(body)), body...)
}

// decode reverses encode. The data is a part of raw, and never nil.
func decode(raw []byte) (name string, data []byte, err error) {
	word, rest, _ := bytes.Cut(raw, []byte(" "))
	if string(word) != magic {
		return "", nil, errors.New("not a record file")
	}
	version, rest, _ := bytes.Cut(rest, []byte(" "))
	if string(version) != formatVersion {
		return "", nil, fmt.Errorf("format version %q, this program reads %s", version, formatVersion)
	}
	sum, body, _ := bytes.Cut(rest, []byte(" "))
	header, data, complete := bytes.Cut(body, []byte("\n"))
	if !complete {
		return "", nil, errors.New("the header is cut short")
	}
	if string(sum) != checksum(body) {
		return "", nil, errors.New("the checksum does not match")
	}
	length, quoted, _ := bytes.Cut(header, []byte(" "))
	if string(length) != strconv.Itoa(len(data)) {
		return "", nil, fmt.Errorf("%d bytes of data where the header says %q", len(data), length)
	}
	if name, err = strconv.Unquote(string(quoted)); err != nil {
		return "", nil, fmt.Errorf("read the name %s: %w", quoted, err)
	}
	return name, data, nil
}

func checksum(b []byte) string {
	return fmt.Sprintf("%08x", crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}
