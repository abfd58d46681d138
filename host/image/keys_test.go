package image

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/host/image/credential"
	"nodal/node"
)

// secrets are the Secrets that are posted, by name.
type secrets map[string]*corev1.Secret

func (s secrets) object(ref node.ObjectRef) (*node.Object, bool) {
	secret, ok := s[ref.Name]
	return node.NewObject(secret), ok && ref.Kind == node.Secret && ref.Namespace == "default"
}

// login is a pull secret for one user of the registry.
func login(user string) *corev1.Secret {
	return &corev1.Secret{Type: corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{
		".dockerconfigjson": fmt.Appendf(nil, `{"auths": {"registry.example": {"username": %q, "password": "hunter2"}}}`, user),
	}}
}

func podWith(uid string, secrets ...string) *node.Pod {
	pod := testPod(uid)
	for _, name := range secrets {
		pod.Object.Spec.ImagePullSecrets = append(pod.Object.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	return pod
}

const private = "registry.example/app:1"

// lets is a registry that lets one user in.
func lets(user string, tried *[]string) func(context.Context, string, *node.Credential) error {
	return func(_ context.Context, _ string, as *node.Credential) error {
		name := "anybody"
		if as != nil {
			name = as.Username
		}
		*tried = append(*tried, name)
		if name != user {
			return &node.Failure{Reason: node.ErrImagePull, Err: errors.New("401 for " + name)}
		}
		return nil
	}
}

func TestPullSecretsAreTriedInOrder(t *testing.T) {
	posted := secrets{"one": login("one"), "two": login("two"), "wrong": {Type: corev1.SecretTypeOpaque}}
	const missing = "warning FailedToRetrieveImagePullSecret: Unable to retrieve some image pull secrets (%s); attempting to pull the image may not succeed."
	for _, c := range []struct {
		name    string
		secrets []string
		user    string
		tried   string
		failed  bool
		event   string
	}{
		{"no secret", nil, "anybody", "anybody", false, ""},
		{"the first that is let in", []string{"one", "two"}, "two", "one two", false, ""},
		{"none is let in", []string{"one", "two"}, "three", "one two", true, ""},
		{"a secret that is not there", []string{"none", "two"}, "two", "two", false, fmt.Sprintf(missing, "none: not found")},
		{"a secret of another type", []string{"wrong"}, "anybody", "anybody", false, fmt.Sprintf(missing,
			`wrong: it is of type "Opaque", not kubernetes.io/dockerconfigjson or kubernetes.io/dockercfg: invalid`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			var tried []string
			m, owner := newMachine(), &owner{}
			m.pull = lets(c.user, &tried)
			p := New(Config{Runtime: m, Object: posted.object, Files: credential.Files{Root: t.TempDir()}, Tell: owner.tell})
			_, err := p.Ensure(t.Context(), podWith("1", c.secrets...), need(private, corev1.PullIfNotPresent))
			if (err != nil) != c.failed || strings.Join(tried, " ") != c.tried {
				t.Errorf("tried %q, %v, want %q", tried, err, c.tried)
			}
			if c.event != "" && owner.events[0] != c.event {
				t.Errorf("got %q, want %q", owner.events, c.event)
			}
			if shown := fmt.Sprint(owner.events, err); strings.Contains(shown, "hunter2") {
				t.Errorf("a password is shown: %s", shown)
			}
		})
	}
}

func TestAPullSecretThatIsLockedIsToldByItsReason(t *testing.T) {
	locked := func(node.ObjectRef) (*node.Object, bool) {
		o := node.NewObject(login("one"))
		o.Locked = errors.New("its key is away")
		return o, true
	}
	var tried []string
	m, owner := newMachine(), &owner{}
	m.pull = lets("anybody", &tried)
	p := New(Config{Runtime: m, Object: locked, Files: credential.Files{Root: t.TempDir()}, Tell: owner.tell})
	if _, err := p.Ensure(t.Context(), podWith("1", "one"), need(private, corev1.PullIfNotPresent)); err != nil {
		t.Fatal(err)
	}
	if len(owner.events) == 0 || !strings.Contains(owner.events[0], "its key is away") {
		t.Errorf("got %q, want the reason", owner.events)
	}
}

func TestAnotherCredentialDoesNotRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tried []string
		m, posted := newMachine(), secrets{"pull": login("old")}
		m.pull = lets("new", &tried)
		p := New(Config{Runtime: m, Object: posted.object, Tell: (&owner{}).tell})
		ensure := func() error {
			_, err := p.Ensure(t.Context(), podWith("1", "pull"), need(private, corev1.PullIfNotPresent))
			return err
		}
		if err := errors.Join(ensure(), ensure()); len(tried) != 1 {
			t.Errorf("tried %q (%v), want one try and then a rest", tried, err)
		}
		posted["pull"] = login("new")
		if err := ensure(); err != nil {
			t.Errorf("with the right secret: %v", err)
		}
	})
}

func TestOthersDoNotShareAPrivatePull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, posted := newMachine(), secrets{"pull": login("me")}
		m.pull = func(ctx context.Context, ref string, as *node.Credential) error {
			if as == nil {
				return fails(ctx, ref, as)
			}
			return takes(time.Minute)(ctx, ref, as)
		}
		p := New(Config{Runtime: m, Object: posted.object, Tell: (&owner{}).tell})
		done := make(chan error)
		go func() {
			_, err := p.Ensure(t.Context(), podWith("1", "pull"), need(private, corev1.PullAlways))
			done <- err
		}()
		synctest.Wait()
		if _, err := p.Ensure(t.Context(), podWith("2"), need(private, corev1.PullAlways)); err == nil {
			t.Error("a pod without the secret got the image by another's pull")
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
