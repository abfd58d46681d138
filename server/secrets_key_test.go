package server

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"nodal/node"
	"nodal/node/seal"
	"nodal/node/store"
)

// scriptedKey is a key as a test has it.
type scriptedKey struct {
	node.Bell
	state seal.State
	wrong error // of a rotation
}

var _ SecretsKey = (*scriptedKey)(nil)

func (k *scriptedKey) State() seal.State        { return k.state }
func (k *scriptedKey) Changed() <-chan struct{} { return k.Heard() }
func (k *scriptedKey) Rotate(context.Context) error {
	if k.wrong == nil {
		k.state.KeyID, k.state.Older = "two", 0
	}
	return k.wrong
}

func sealedByPlugin() seal.State {
	return seal.State{
		Source: seal.Source{Kind: seal.KMS, Name: "/run/kms.sock"}, Place: "/run/kms.sock", KeyID: "one",
		Records: 3, Older: 1, Unreadable: 2, Fault: "it does not answer",
	}
}

func TestTheNodeSaysWhereTheKeyOfSecretsLives(t *testing.T) {
	n := newNode(t, func(c *Config) { c.Machine.SecretsKey = &scriptedKey{state: sealedByPlugin()} })
	const want = `"secretsKey":{"source":"kms:unix:///run/kms.sock","place":"/run/kms.sock","keyId":"one","records":3,"older":1,"unreadable":2,"fault":"it does not answer"}`
	if got := n.do(t, "GET", "/v1/node", ""); got.status != 200 || !strings.Contains(got.body, want) {
		t.Errorf("got %d %s, want %s in it", got.status, got.body, want)
	}
}

func TestAnAdminRotatesTheKeyOfSecrets(t *testing.T) {
	key := &scriptedKey{state: sealedByPlugin()}
	n := newNode(t, func(c *Config) {
		c.Front.Auth = newAuth(t, false)
		c.Machine.SecretsKey = key
	})
	for _, c := range []struct {
		name, role string
		wrong      error
		code       int
		holds      string
	}{
		{"an operator may not", "operator", nil, 403, "may not administer"},
		{"a key that is away", "admin", fmt.Errorf("%w: no answer", node.ErrUnavailable), 503, "no answer"},
		{"a key that is not the agent's", "admin", fmt.Errorf("%w: use systemd-creds", node.ErrUnsupported), 501, "systemd-creds"},
		{"an admin may", "admin", nil, 200, `"keyId":"two"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			key.wrong = c.wrong
			got := n.do(t, "POST", "/v1/node/secretskey:rotate", "{}", "Authorization", tokenOf(t, c.role))
			if got.status != c.code || !strings.Contains(got.body, c.holds) {
				t.Errorf("got %d %s, want %d with %q", got.status, got.body, c.code, c.holds)
			}
		})
	}
}

func TestANodeWatchReportsAnotherKey(t *testing.T) {
	watchNode(t, func(t *testing.T, _ *node1, r *nodeReader) {
		time.Sleep(time.Minute) // of a simulated clock
		r.key.state = sealedByPlugin()
		r.key.Ring()
		if got := r.next(time.Second).GetSecretsKey().GetKeyId(); got != "one" {
			t.Errorf("got key %q, want the one that has come", got)
		}
	})
}

// lock has the store hold a Secret that cannot be read.
func (n *node1) lock(t *testing.T, name string, why error) {
	t.Helper()
	if problems := n.store.Lock([]store.Locked{{Name: store.SecretRecords + "default_" + name, Err: why}}); len(problems) > 0 {
		t.Fatal(problems)
	}
}

func TestALockedSecretIsShownByNameAndReadByNobody(t *testing.T) {
	n := newNode(t)
	n.lock(t, "away", fmt.Errorf("its key is away: %w", node.ErrUnavailable))
	n.lock(t, "lost", fmt.Errorf("%w: another key sealed it", node.ErrLost))
	n.lock(t, "newer", fmt.Errorf("%w: in form 9: %w", store.ErrNewer, node.ErrConflict))
	secret := func(name string) string {
		return `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"` + name + `"},"stringData":{"a":"b"}}`
	}
	for _, c := range []struct {
		method, path, body string
		code               int
		holds              string
	}{
		{"GET", "/v1/namespaces/default/secrets", "", 200, `"name":"away"`},
		{"GET", "/v1/namespaces/default/secrets", "", 200, `"locked":"its key is away`},
		{"GET", "/v1/namespaces/default/objects/secrets", "", 200, `"locked":"its key is away`},
		{"GET", "/v1/namespaces/default/secrets/away", "", 503, "Secret default/away cannot be read: its key is away"},
		{"GET", "/v1/namespaces/default/objects/secrets/lost", "", 500, "another key sealed it"},
		{"GET", "/v1/namespaces/default/secrets/newer", "", 409, "in form 9"},
		{"PUT", "/v1/namespaces/default/secrets/away", secret("away"), 503, "its key is away"},
		{"PUT", "/v1/namespaces/default/secrets/newer", secret("newer"), 409, "in form 9"},
		{"PUT", "/v1/namespaces/default/secrets/lost", secret("lost"), 200, `RESULT_CREATED`},
		{"GET", "/v1/namespaces/default/secrets/lost", "", 200, `"keys":["a"]`},
		{"DELETE", "/v1/namespaces/default/secrets/newer", "", 409, "in form 9"},
		{"DELETE", "/v1/namespaces/default/secrets/away", "", 200, ""},
		{"GET", "/v1/namespaces/default/secrets/away", "", 404, ""},
	} {
		got := n.do(t, c.method, c.path, c.body)
		if got.status != c.code || !strings.Contains(strings.ToLower(got.body), strings.ToLower(c.holds)) {
			t.Errorf("%s %s: got %d %s, want %d with %q", c.method, c.path, got.status, got.body, c.code, c.holds)
		}
	}
	if o, ok := n.store.Object(node.ObjectRef{Kind: node.Secret, Namespace: "default", Name: "lost"}); !ok || o.Locked != nil || o.Meta().UID == "" {
		t.Errorf("the Secret that was posted again is %+v, want a new one", o)
	}
}
