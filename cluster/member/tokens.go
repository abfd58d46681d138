package member

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"nodal/cluster/retry"
	"nodal/node"
)

// A token is replaced when this part of its life is over, and at least once a day. The pause keeps clocks that
// disagree from causing a flood of requests.
const (
	tokenSpent = 0.8
	tokenLasts = 24 * time.Hour
	tokenPause = time.Minute
)

// tokenKey names the token in the Secret that carries it to the node.
const tokenKey = "token"

// token describes the token of a service account that one pod wants. The node knows no service accounts: to it the
// token is a Secret.
type token struct {
	pod      types.NamespacedName
	uid      types.UID
	account  string
	audience string
	seconds  int64
}

// tokenFor returns the token that a source of a volume wants.
func tokenFor(pod *corev1.Pod, source *corev1.ServiceAccountTokenProjection) token {
	t := token{
		pod: types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, uid: pod.UID,
		account: pod.Spec.ServiceAccountName, audience: source.Audience, seconds: 3600,
	}
	if source.ExpirationSeconds != nil {
		t.seconds = *source.ExpirationSeconds
	}
	return t
}

// ref names the token's Secret on the node.
func (t token) ref() node.ObjectRef {
	digest := sha256.Sum256(fmt.Appendf(nil, "%s %q %d", t.uid, t.audience, t.seconds))
	name := "token-" + hex.EncodeToString(digest[:10])
	return node.ObjectRef{Kind: node.Secret, Namespace: t.pod.Namespace, Name: name}
}

// request returns the request for the token, which is valid for as long as the pod exists.
func (t token) request() *authenticationv1.TokenRequest {
	r := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: &t.seconds,
		BoundObjectRef: &authenticationv1.BoundObjectReference{
			APIVersion: "v1", Kind: "Pod", Name: t.pod.Name, UID: t.uid,
		},
	}}
	if t.audience != "" {
		r.Spec.Audiences = []string{t.audience}
	}
	return r
}

// tokensOf returns the tokens that a pod wants, by their Secrets.
func tokensOf(pod *corev1.Pod) map[node.ObjectRef]token {
	found := map[node.ObjectRef]token{}
	for _, v := range pod.Spec.Volumes {
		if v.Projected == nil {
			continue
		}
		for _, source := range v.Projected.Sources {
			if source.ServiceAccountToken != nil {
				t := tokenFor(pod, source.ServiceAccountToken)
				found[t.ref()] = t
			}
		}
	}
	return found
}

// bringTokens replaces the tokens in a pod's volumes by Secrets.
func bringTokens(pod *corev1.Pod) {
	for _, v := range pod.Spec.Volumes {
		if v.Projected == nil {
			continue
		}
		for i, source := range v.Projected.Sources {
			if wanted := source.ServiceAccountToken; wanted != nil {
				v.Projected.Sources[i] = corev1.VolumeProjection{Secret: &corev1.SecretProjection{
					LocalObjectReference: corev1.LocalObjectReference{Name: tokenFor(pod, wanted).ref().Name},
					Items:                []corev1.KeyToPath{{Key: tokenKey, Path: wanted.Path}},
				}}
			}
		}
	}
}

// keepFresh keeps a token on the node, and renews it before it expires, until no pod uses it.
func (o *objects) keepFresh(ctx context.Context, t token) {
	ref := t.ref()
	for ctx.Err() == nil {
		var lasts time.Duration
		retry.Until(ctx, o.log, "cannot put a token on the node yet", retry.Most, func(ctx context.Context) error {
			given, err := o.cluster.token(ctx, t.pod.Namespace, t.account, t.request())
			if err != nil {
				o.noteUnread(ctx, ref, err)
				return fmt.Errorf("ask for a token of service account %s/%s: %w", t.pod.Namespace, t.account, err)
			}
			lasts = goodFor(given, time.Now())
			err = o.node.put(ctx, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name},
				Data:       map[string][]byte{tokenKey: []byte(given.Status.Token)},
			})
			o.note(ctx, ref, err)
			return err
		})
		fresh := min(time.Duration(tokenSpent*float64(lasts)), tokenLasts)
		_ = o.alarm.Sleep(ctx, wait.Jitter(max(fresh, tokenPause), 0.05)) // the loop sees the context's end
	}
}

// goodFor returns how long a token lasts by the node's clock. If that clock is behind, it returns the full lifetime.
func goodFor(given *authenticationv1.TokenRequest, now time.Time) time.Duration {
	lasts := given.Status.ExpirationTimestamp.Sub(now)
	if made := given.Spec.ExpirationSeconds; made != nil {
		lasts = min(lasts, node.Seconds(*made))
	}
	return lasts
}
