package image

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"nodal/host/image/credential"
	"nodal/node"
)

// fingerprint distinguishes sets of credentials without holding them.
type fingerprint [sha256.Size]byte

func fingerprintOf(keys []credential.Key) fingerprint {
	if len(keys) == 0 {
		return fingerprint{}
	}
	sum := sha256.New()
	for _, key := range keys {
		c := key.Credential
		fmt.Fprintf(sum, "%q %q %q %q\n", c.Username, c.Password, c.IdentityToken, c.RegistryToken)
	}
	return fingerprint(sum.Sum(nil))
}

// keys returns the credentials for a pull, in the order in which they are tried: the pod's own before the node's.
func (p *Puller) keys(ctx context.Context, r request) []credential.Key {
	return credential.Join(p.podKeys(r), p.keyring(ctx, r.ref)).For(r.ref)
}

// keyring reads the credentials of the node.
func (p *Puller) keyring(ctx context.Context, ref string) credential.Keyring {
	files, err := p.config.Files.Read()
	asked, err2 := p.config.Plugins.Ask(ctx, ref)
	if err := errors.Join(err, err2); err != nil {
		p.config.Log.Warn("cannot read some registry credentials of the node", "err", err)
	}
	return credential.Join(files, asked)
}

// podKeys reads the pod's pull secrets. A faulty one is reported and does not stop the pull:
// the image may be public.
func (p *Puller) podKeys(r request) credential.Keyring {
	var keys credential.Keyring
	var wrong []string
	for _, named := range r.pod.Object.Spec.ImagePullSecrets {
		if named.Name == "" {
			continue
		}
		found, err := p.secretKeys(node.ObjectRef{Kind: node.Secret, Namespace: r.pod.Object.Namespace, Name: named.Name})
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: %v", named.Name, err))
			continue
		}
		keys = credential.Join(keys, found)
	}
	if len(wrong) > 0 {
		p.warn(r, eventNoSecret, fmt.Sprintf("Unable to retrieve some image pull secrets (%s); attempting to pull the image may not succeed.",
			strings.Join(wrong, ", ")))
	}
	return keys
}

func (p *Puller) secretKeys(ref node.ObjectRef) (credential.Keyring, error) {
	object, ok := p.config.Object(ref)
	if !ok {
		return nil, node.ErrNotFound
	}
	if err := object.Readable(); err != nil {
		return nil, err
	}
	return credential.OfSecret(object.Secret())
}
