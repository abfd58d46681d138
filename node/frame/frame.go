// Package frame puts records into a file so that a reader finds where a crash has cut it.
//
//	length (uvarint) | record | CRC-32C of both (4 bytes, little endian)
//
// A file of frames is only appended to. Its good part ends before the first frame that is short or does not match its
// checksum: what follows cannot be told apart from it. Zeros, which some file systems leave behind after a power cut,
// are no frame.
//
// Start reading at Next.
package frame

import (
	"encoding/binary"
	"hash/crc32"
)

// MaxRecord bounds the bytes of one record, so that a damaged length does not count as a large one.
const MaxRecord = 1 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Append adds the frame of a record, which has at most MaxRecord bytes.
func Append(to, record []byte) []byte {
	begin := len(to)
	to = binary.AppendUvarint(to, uint64(len(record)))
	to = append(to, record...)
	return binary.LittleEndian.AppendUint32(to, crc32.Checksum(to[begin:], castagnoli))
}

// Next returns the record of the first frame, and the text behind it. It returns false at the end of the good part.
func Next(text []byte) (record, rest []byte, ok bool) {
	length, n := binary.Uvarint(text)
	if n <= 0 || length > MaxRecord || uint64(len(text)-n) < length+crc32.Size {
		return nil, text, false
	}
	end := n + int(length)
	if binary.LittleEndian.Uint32(text[end:]) != crc32.Checksum(text[:end], castagnoli) {
		return nil, text, false
	}
	return text[n:end], text[end+crc32.Size:], true
}
