package vault

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"nodal/host/vault/kms"
	"nodal/node/store"
)

const keySize = 32

// key seals and opens records.
type key struct {
	id     string // as people know it
	header []byte // of the records that it seals; nil for a key that lies in a file
	aead   cipher.AEAD
}

// generation distinguishes keys. Two data keys that a plugin has encrypted with one of its keys differ in it.
type generation string

func (k *key) generation() generation {
	if k.header != nil {
		return generationOf(k.header)
	}
	return generation("file " + k.id)
}

// generationOf returns the generation of the data key in a header.
func generationOf(header []byte) generation { return generation("wrapped " + string(header)) }

// newKey returns the bytes of a key that never was before.
func newKey() []byte {
	raw := make([]byte, keySize)
	rand.Read(raw)
	return raw
}

// fileKey makes a key of the content of a file. Its ID is a part of a digest, which tells nothing of the key.
func fileKey(raw []byte) (*key, error) {
	digest := sha256.Sum256(append([]byte("nodal key of secrets\x00"), raw...))
	aead, err := newCipher(raw)
	return &key{id: hex.EncodeToString(digest[:8]), aead: aead}, err
}

// dataKey makes a key that records carry in encrypted form.
func dataKey(wrapped kms.WrappedKey, raw []byte) (*key, error) {
	header, err := json.Marshal(wrapped)
	if err != nil {
		return nil, fmt.Errorf("encode the data key of key_id %q: %w", wrapped.KeyID, err)
	}
	aead, err := newCipher(raw)
	return &key{id: wrapped.KeyID, header: header, aead: aead}, err
}

func newCipher(raw []byte) (cipher.AEAD, error) {
	if len(raw) != keySize {
		return nil, fmt.Errorf("the key has %d bytes, not %d", len(raw), keySize)
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// seal returns a record with its data sealed.
func (k *key) seal(r store.Record) store.Record {
	r.Data = k.aead.Seal(headed(k.header), nil, r.Data, boundTo(r.Name, k.header))
	return r
}

// open returns the data of a record that the key has sealed.
func (k *key) open(e envelope) ([]byte, error) {
	data, err := k.aead.Open(nil, nil, e.text, e.bound)
	if err == nil && data == nil {
		data = []byte{} // nil would mean that the record is gone
	}
	return data, err
}
