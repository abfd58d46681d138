package vault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"nodal/host/vault/kms"
	"nodal/node/seal"
)

// kmsKeys are data keys that a KMS plugin encrypts.
type kmsKeys struct {
	from    seal.Source
	plugin  kms.Plugin
	known   map[generation]*key // the plugin has opened them, or encrypted them
	present *key
}

var _ provider = (*kmsKeys)(nil)

func (p *kmsKeys) source() seal.Source { return p.from }
func (p *kmsKeys) place() string       { return p.plugin.Socket }
func (p *kmsKeys) wraps() bool         { return true }

// opening has the plugin decrypt the data keys of records.
func (p *kmsKeys) opening(ctx context.Context, headers [][]byte) ([]*key, error) {
	var wrong []error
	for _, header := range headers {
		if p.known[generationOf(header)] != nil {
			continue
		}
		k, err := p.unwrap(ctx, header)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		p.known[k.generation()] = k
	}
	return slices.Collect(maps.Values(p.known)), errors.Join(wrong...)
}

func (p *kmsKeys) unwrap(ctx context.Context, header []byte) (*key, error) {
	var wrapped kms.WrappedKey
	if err := json.Unmarshal(header, &wrapped); err != nil {
		return nil, fmt.Errorf("decode a data key: %w", err)
	}
	raw, err := p.plugin.Unwrap(ctx, wrapped)
	if err != nil {
		return nil, fmt.Errorf("%w; key_id %q", err, wrapped.KeyID)
	}
	k, err := dataKey(wrapped, raw)
	if err != nil {
		return nil, fmt.Errorf("KMS plugin at %s: key_id %q: %w", p.plugin.Socket, wrapped.KeyID, err)
	}
	k.header = header // as records have it, to the byte
	return k, nil
}

// sealing returns a data key that the plugin's present key has encrypted. It makes one if there is none.
func (p *kmsKeys) sealing(ctx context.Context, w wish) (*key, error) {
	keyID, err := p.plugin.Status(ctx)
	if err != nil {
		return nil, err
	}
	if p.present != nil && p.present.id == keyID {
		return p.present, nil
	}
	if p.present == nil && !w.fresh {
		if p.present = p.carried(keyID); p.present != nil {
			return p.present, nil
		}
	}
	before := p.present
	if err := p.stage(ctx); err != nil {
		return nil, err
	}
	if before != nil && p.present.id == before.id {
		p.present = before // the plugin has announced a key that it does not use yet
	}
	return p.present, nil
}

// carried returns a data key that records carry, encrypted with one key of the plugin, or nil.
func (p *kmsKeys) carried(keyID string) (found *key) {
	for _, k := range p.known {
		if k.id == keyID && (found == nil || bytes.Compare(k.header, found.header) < 0) {
			found = k
		}
	}
	return found
}

// stage makes a new data key. Records that it seals carry it.
func (p *kmsKeys) stage(ctx context.Context) error {
	raw := newKey()
	wrapped, err := p.plugin.Wrap(ctx, raw)
	if err != nil {
		return err
	}
	k, err := dataKey(wrapped, raw)
	if err != nil {
		return err
	}
	p.present, p.known[k.generation()] = k, k
	return nil
}

// unsettled reports false: what the plugin has encrypted is in records alone.
func (p *kmsKeys) unsettled() bool { return false }

// settle forgets the data keys before the present one.
func (p *kmsKeys) settle() error {
	p.known = map[generation]*key{}
	if p.present != nil {
		p.known[p.present.generation()] = p.present
	}
	return nil
}

// retirable reports false, see retire.
func (p *kmsKeys) retirable() bool { return false }

// retire does nothing: the keys of a plugin are not the agent's.
func (p *kmsKeys) retire() error { return nil }
