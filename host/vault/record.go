package vault

import (
	"encoding/binary"
	"errors"
	"fmt"

	"nodal/node"
	"nodal/node/store"
)

// The forms of a sealed record, by its first byte. Each form is a contract with other agents:
// docs/decisions/0026-records-are-a-contract.md.
const (
	// plainKey is followed by the sealed data alone. Keys that lie in files seal so, as the first agents did.
	plainKey = 1
	// wrappedKey is followed by the length and the text of a header, which holds the data key as a KMS plugin has
	// encrypted it, and by the sealed data.
	wrappedKey = 2
)

// envelope is a sealed record, taken apart.
type envelope struct {
	header []byte // nil for plainKey
	bound  []byte // what the seal covers beside the data
	text   []byte // the sealed data
}

// headed returns what stands before the sealed data.
func headed(header []byte) []byte {
	if header == nil {
		return []byte{plainKey}
	}
	start := binary.BigEndian.AppendUint32([]byte{wrappedKey}, uint32(len(header)))
	return append(start, header...)
}

// boundTo returns what a seal covers beside the data: where it belongs, and the header in front of it.
func boundTo(name string, header []byte) []byte {
	if header == nil {
		return []byte(name)
	}
	return append(headed(header), name...)
}

var errShort = errors.New("it is too short to be a sealed record")

// parse takes a sealed record apart.
func parse(r store.Record) (envelope, error) {
	if len(r.Data) == 0 {
		return envelope{}, errShort
	}
	switch version, rest := r.Data[0], r.Data[1:]; version {
	case plainKey:
		return envelope{bound: boundTo(r.Name, nil), text: rest}, nil
	case wrappedKey:
		if len(rest) < 4 || uint64(binary.BigEndian.Uint32(rest)) > uint64(len(rest)-4) {
			return envelope{}, errShort
		}
		end := 4 + binary.BigEndian.Uint32(rest)
		header := rest[4:end:end]
		return envelope{header: header, bound: boundTo(r.Name, header), text: rest[end:]}, nil
	default:
		return envelope{}, fmt.Errorf("%w: it is sealed in form %d, this agent opens forms 1 and 2; it is left alone until such an agent runs again: %w",
			store.ErrNewer, version, node.ErrConflict)
	}
}
