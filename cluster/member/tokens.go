package member

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// token describes the token of a service account that one pod wants.
type token struct {
	node.AccountToken
	pod     string // its name
	account string
}

// tokenOf returns a token of a pod.
func tokenOf(pod *corev1.Pod, audience string, seconds *int64) token {
	return token{
		AccountToken: node.NewAccountToken(pod.Namespace, pod.UID, audience, seconds), pod: pod.Name, account: pod.Spec.ServiceAccountName,
	}
}

// tokenFor returns the token that a source of a volume wants.
func tokenFor(pod *corev1.Pod, source *corev1.ServiceAccountTokenProjection) token {
	return tokenOf(pod, source.Audience, source.ExpirationSeconds)
}

// request returns the request for the token, which is valid for as long as the pod exists.
func (t token) request() *authenticationv1.TokenRequest {
	r := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: &t.Seconds,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: t.pod, UID: t.Pod},
	}}
	if t.Audience != "" {
		r.Spec.Audiences = []string{t.Audience}
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
				found[t.Secret()] = t
			}
		}
	}
	return found
}

// driverTokens returns the tokens of a pod that the drivers of its volumes want, by their Secrets. It is called with mu held.
func (o *objects) driverTokens(pod *corev1.Pod, using map[node.ObjectRef]keeper) map[node.ObjectRef]token {
	found := map[node.ObjectRef]token{}
	for ref := range using {
		u := o.used[ref]
		if ref.Kind != node.CSIDriverObject || u == nil || u.driver == nil {
			continue
		}
		for _, r := range u.driver.TokenRequests {
			t := tokenOf(pod, r.Audience, r.ExpirationSeconds)
			found[t.Secret()] = t
		}
	}
	return found
}

// learn notes what a CSIDriver object of the cluster says. Pods that use the driver are looked at again if its tokens change.
func (o *objects) learn(ref node.ObjectRef, driver *storagev1.CSIDriver) {
	o.mu.Lock()
	defer o.mu.Unlock()
	u := o.used[ref]
	if u == nil {
		return
	}
	var before []storagev1.TokenRequest
	if u.driver != nil {
		before = u.driver.TokenRequests
	}
	u.driver = &driver.Spec
	if !equality.Semantic.DeepEqual(before, driver.Spec.TokenRequests) {
		for pod := range u.pods {
			o.ready(pod)
		}
	}
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
					LocalObjectReference: corev1.LocalObjectReference{Name: tokenFor(pod, wanted).Secret().Name},
					Items:                []corev1.KeyToPath{{Key: node.TokenKey, Path: wanted.Path}},
				}}
			}
		}
	}
}

// keepFresh keeps a token on the node, and renews it before it expires, until no pod uses it.
func (o *objects) keepFresh(ctx context.Context, t token) {
	ref := t.Secret()
	for ctx.Err() == nil {
		var lasts time.Duration
		retry.Until(ctx, o.log, "cannot put a token on the node yet", retry.Most, func(ctx context.Context) error {
			given, err := o.cluster.token(ctx, t.Namespace, t.account, t.request())
			if err != nil {
				o.noteUnread(ctx, ref, err)
				return fmt.Errorf("ask for a token of service account %s/%s: %w", t.Namespace, t.account, err)
			}
			lasts = goodFor(given, time.Now())
			err = o.node.put(ctx, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name},
				Data: map[string][]byte{
					node.TokenKey:        []byte(given.Status.Token),
					node.TokenExpiresKey: []byte(given.Status.ExpirationTimestamp.UTC().Format(time.RFC3339)),
				},
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
