package member

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/cluster/retry"
	"nodal/node"
)

// mounted adds a volume to a pod, which its container mounts.
func mounted(pod *corev1.Pod, name string, source corev1.VolumeSource) {
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: source})
	app := &pod.Spec.Containers[0]
	app.VolumeMounts = append(app.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: "/" + name})
}

// projected is a volume of one source.
func projected(source corev1.VolumeProjection) corev1.VolumeSource {
	return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{source}}}
}

// demanding is a pod that uses an object of each kind.
func demanding() *corev1.Pod {
	pod := object("u1")
	pod.Spec.ServiceAccountName = "robot"
	pod.Spec.RuntimeClassName = new("kata")
	mounted(pod, "data", corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "files"}})
	mounted(pod, "settings", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "modes"}}})
	mounted(pod, "access", projected(corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}}))
	mounted(pod, "roots", projected(corev1.VolumeProjection{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{Name: new("ca"), Path: "ca.pem"}}))
	pod.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "login"}}}}
	return pod
}

func TestAPodWaitsForWhatItCannotGoWithout(t *testing.T) {
	pod := demanding()
	var tokenRef node.ObjectRef
	for tokenRef = range tokensOf(pod) {
	}
	class := node.ObjectRef{Kind: node.RuntimeClass, Name: "kata"}
	claim := node.ObjectRef{Kind: node.PersistentVolumeClaim, Namespace: "default", Name: "files"}
	settings := node.ObjectRef{Kind: node.ConfigMap, Namespace: "default", Name: "modes"}
	login := node.ObjectRef{Kind: node.Secret, Namespace: "default", Name: "login"}
	trust := node.ObjectRef{Kind: node.ClusterTrustBundle, Name: "ca"}
	broken := errors.New("it broke")
	for _, c := range []struct {
		name   string
		ref    node.ObjectRef
		wrong  error // nil if nothing is known
		reason string
		want   string
	}{
		{"a class of which nothing is known", class, nil, "", errUnread.Error()},
		{"a class that is away", class, absent(class), "FailedCreatePodSandBox", `Failed to create pod sandbox: runtimeclass.node.k8s.io "kata" not found`},
		{"a claim of another client", claim, errForeign, "FailedMount", "Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], " +
			"failed to process volumes=[data]: error processing PVC default/files: " + errForeign.Error()},
		{"services of which nothing is known", servicesFor(pod), nil, "", errUnread.Error()},
		{"services that cannot be read", servicesFor(pod), broken, "Failed", "Error: it broke"},
		{"a token that is on its way", tokenRef, nil, "", errUnread.Error()},
		{"a token that is refused", tokenRef, absent(login), "FailedMount", `MountVolume.SetUp failed for volume "access" : failed to fetch token: secret "login" not found`},
		{"a ConfigMap of which nothing is known", settings, nil, "", errUnread.Error()},
		{"a ConfigMap that cannot be read", settings, broken, "FailedMount", `MountVolume.SetUp failed for volume "settings" : it broke`},
		{"a ConfigMap that is away", settings, absent(settings), "", ""},
		{"a ConfigMap of another client", settings, errForeign, "", ""},
		{"a Secret of the environment that cannot be read", login, broken, "Failed", "Error: it broke"},
		{"a Secret that is away", login, absent(login), "", ""},
		{"a trust bundle of which nothing is known", trust, nil, "", errUnread.Error()},
		{"a trust bundle that is away", trust, absent(trust), "", ""},
	} {
		o := stocked(pod)
		if o.used[c.ref] == nil {
			t.Fatalf("%s: the pod uses no %s", c.name, c.ref)
		}
		o.used[c.ref] = &usage{wrong: c.wrong}
		got, reason := "", ""
		err := o.lacking(pod)
		if err != nil {
			got = err.Error()
		}
		if f := (*node.Failure)(nil); errors.As(err, &f) {
			reason = f.Reason
		}
		if got != c.want || reason != c.reason {
			t.Errorf("%s: got %q %q, want %q %q", c.name, reason, got, c.reason, c.want)
		}
	}
}

func TestAPodIsLookedAtWhenNewsOfItsObjectsComes(t *testing.T) {
	ref := node.ObjectRef{Kind: node.Secret, Namespace: "default", Name: "login"}
	woken := 0
	o := &objects{ready: func(types.NamespacedName) { woken++ }, used: map[node.ObjectRef]*usage{
		ref: {pods: map[types.NamespacedName]bool{{Namespace: "default", Name: "web"}: true}},
	}}
	ended, end := context.WithCancel(t.Context())
	end()
	for _, step := range []struct {
		name string
		do   func()
		want int
	}{
		{"it cannot be read", func() { o.noteUnread(t.Context(), ref, errors.New("forbidden")) }, 1},
		{"it cannot be read again", func() { o.noteUnread(t.Context(), ref, errors.New("forbidden")) }, 1},
		{"the cluster has none", func() { o.note(t.Context(), ref, absent(ref)) }, 2},
		{"it cannot be read later", func() { o.noteUnread(t.Context(), ref, errors.New("forbidden")) }, 2},
		{"it came", func() { o.note(t.Context(), ref, nil) }, 3},
		{"the keeper of an earlier one ends", func() { o.note(ended, ref, context.Canceled) }, 3},
		{"it changed", func() { o.note(t.Context(), ref, nil) }, 3},
	} {
		step.do()
		if woken != step.want {
			t.Errorf("%s: the pod was looked at %d times, want %d", step.name, woken, step.want)
		}
	}
	if u := o.used[ref]; !u.there {
		t.Error("it is taken to be away")
	}
}

// dated notes when it got a pod.
type dated struct {
	nodev1.PodsServiceClient
	at time.Time
}

func (d *dated) PutPod(context.Context, *nodev1.PutPodRequest, ...grpc.CallOption) (*nodev1.PutPodResponse, error) {
	d.at = time.Now()
	return &nodev1.PutPodResponse{}, nil
}

// The node would tell of an object that is on its way as of one that is missing.
func TestAPodFollowsItsObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pod := object("u1")
		pod.Spec.EnableServiceLinks = new(false)
		pod.Spec.ServiceAccountName = "robot"
		mounted(pod, "access", projected(corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}}))
		asked := time.Now()
		const slow = 3 * time.Second // of the API server's, to give a token
		server := apiServer(func(r *http.Request) (int, any, error) {
			if r.Method == http.MethodPost {
				time.Sleep(slow)
				return http.StatusCreated, &authenticationv1.TokenRequest{
					TypeMeta: metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "TokenRequest"},
					Status:   authenticationv1.TokenRequestStatus{Token: "t", ExpirationTimestamp: metav1.NewTime(time.Now().Add(time.Hour))},
				}, nil
			}
			if r.URL.Query().Get("watch") != "" {
				return http.StatusBadRequest, refused(http.StatusBadRequest, metav1.StatusReasonBadRequest), nil
			}
			return http.StatusOK, &corev1.ServiceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceList"}}, nil
		})
		delivered := &dated{}
		p := newPods("n", server.dial(t), delivered, nil, slog.New(slog.DiscardHandler))
		p.objects = &objects{
			cluster: p.cluster, node: (&stock{}).shelf(), log: p.log, ready: p.queue.Add, alarm: retry.NewAlarm(time.Now),
			used: map[node.ObjectRef]*usage{}, leaving: map[node.ObjectRef]chan struct{}{},
		}
		p.wanted = cache.NewStore(cache.DeletionHandlingMetaNamespaceKeyFunc)
		_ = p.wanted.Add(pod)
		ctx, cancel := context.WithCancel(t.Context())
		p.queue.Add(types.NamespacedName{Namespace: "default", Name: "web"})
		go p.queue.Work(ctx, p.log, "again", p.carry)
		time.Sleep(time.Minute)
		synctest.Wait() // what the queue has written is there to be read
		if got := delivered.at.Sub(asked); got < slow || got > slow+time.Second {
			t.Errorf("the node got the pod after %s, want it right after its token, which came after %s", got, slow)
		}
		if got := p.queue.NumRequeues(types.NamespacedName{Namespace: "default", Name: "web"}); got != 0 {
			t.Errorf("the pod was tried %d times in vain, want it to wait", got)
		}
		cancel()
		p.queue.ShutDown()
		p.objects.done.Wait()
	})
}
