package member

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
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

// keeping is an API server that keeps the last status that it is told of a pod.
type keeping struct {
	last corev1.PodStatus
	told int
}

func (k *keeping) server(t *testing.T) apiServer {
	return func(r *http.Request) (int, any, error) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return 0, nil, err
		}
		pod := &corev1.Pod{}
		if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, pod); err != nil {
			t.Error(err)
		}
		k.last, k.told = pod.Status, k.told+1
		return http.StatusOK, &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{ResourceVersion: "2"}}, nil
	}
}

func TestAPodThatWaitsForItsClaimIsShownToWait(t *testing.T) {
	claim := node.ObjectRef{Kind: node.PersistentVolumeClaim, Namespace: "default", Name: "files"}
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
	for _, c := range []struct {
		name   string
		status corev1.PodStatus
		have   *local
		told   int
	}{
		{"one that is new", corev1.PodStatus{Phase: corev1.PodPending}, nil, 1},
		{"one that follows another of its name", corev1.PodStatus{Phase: corev1.PodPending}, &local{object: object("u0")}, 1},
		{"one that the node has had", corev1.PodStatus{Phase: corev1.PodPending}, &local{object: object("u1"), gone: true}, 0},
		{"one that has run elsewhere", corev1.PodStatus{Phase: corev1.PodRunning}, nil, 0},
		{"one whose init container runs", corev1.PodStatus{
			Phase: corev1.PodPending, InitContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}},
		}, nil, 0},
		{"one that has a sandbox", corev1.PodStatus{
			Phase: corev1.PodPending, PodIP: "10.0.0.9", ContainerStatuses: []corev1.ContainerStatus{{State: waiting}},
		}, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pod := object("u1")
				mounted(pod, "data", corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "files"}})
				pod.Status = c.status
				k, warned := &keeping{}, 0
				o := stocked(pod)
				o.used[claim] = &usage{wrong: absent(claim)}
				p := newPods("n", k.server(t).dial(t), bare{}, o, slog.New(slog.DiscardHandler))
				defer p.queue.ShutDown()
				p.about, p.warn = &stock{}, func(context.Context, *corev1.Pod, string, string) { warned++ }
				s := sides{want: pod, have: c.have}
				for range 5 {
					time.Sleep(explainAfter / 2)
					if err := p.apply(t.Context(), s); !apierrors.IsNotFound(err) {
						t.Fatalf("got %v, want what is missing", err)
					}
					if k.told > 0 {
						pod.Status = *k.last.DeepCopy()
					}
				}
				if k.told != c.told || warned != 1 {
					t.Errorf("the status is sent %d times and the event %d times, want %d and once", k.told, warned, c.told)
				}
			})
		})
	}
}

func TestAPodThatWaitsLooksAsTheNodeWouldShowIt(t *testing.T) {
	pod := object("u1")
	pod.Generation = 3
	pod.Status.Conditions = []corev1.PodCondition{{Type: "example.com/other", Status: corev1.ConditionTrue}}
	before := noon.Add(-time.Hour)
	lack := &node.Failure{Reason: node.FailedMount, Err: errors.New("no claim")}
	got := awaiting(pod, []string{"192.0.2.1", "fd00::1"}, lack, before)
	if got.Phase != corev1.PodPending || got.Reason != node.FailedMount || got.Message != "no claim" || got.HostIP != "192.0.2.1" || len(got.HostIPs) != 2 ||
		!got.StartTime.Time.Equal(before) || got.QOSClass != corev1.PodQOSBestEffort || got.ObservedGeneration != 3 {
		t.Errorf("got %+v", got)
	}
	if w := got.ContainerStatuses[0].State.Waiting; w == nil || w.Reason != "ContainerCreating" || got.ContainerStatuses[0].Image != "a:1" {
		t.Errorf("the container is %+v, want it being created", got.ContainerStatuses[0])
	}
	for kind, want := range map[corev1.PodConditionType]corev1.ConditionStatus{
		corev1.PodReadyToStartContainers: corev1.ConditionFalse, corev1.PodInitialized: corev1.ConditionTrue, corev1.PodReady: corev1.ConditionFalse,
		corev1.ContainersReady: corev1.ConditionFalse, corev1.PodScheduled: corev1.ConditionTrue, "example.com/other": corev1.ConditionTrue,
	} {
		if c := conditionOf(&corev1.Pod{Status: got}, kind); c == nil || c.Status != want {
			t.Errorf("%s is %+v, want %s", kind, c, want)
		}
	}
	pod.Status = got
	if later := awaiting(pod, []string{"192.0.2.1", "fd00::1"}, lack, noon); !equality.Semantic.DeepEqual(later, got) {
		t.Errorf("later it is %+v, want no change", later)
	}
	pod.Generation, pod.Spec.Containers[0].Image = 4, "a:2"
	if later := awaiting(pod, nil, lack, noon); later.ObservedGeneration != 4 || later.ContainerStatuses[0].Image != "a:2" || !later.StartTime.Time.Equal(before) {
		t.Errorf("after a change it is %+v, want it since its start", later)
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

// What a pod lacked before it went to the node says nothing of how long it has to wait later.
func TestAPodThatTheNodeTookWaitsAnewWhenItLacksSomething(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		claim := node.ObjectRef{Kind: node.PersistentVolumeClaim, Namespace: "default", Name: "files"}
		pod, warned := object("u1"), 0
		pod.Status.Phase = corev1.PodRunning // the status of such a pod stays
		mounted(pod, "data", corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "files"}})
		o := stocked(pod)
		p := newPods("n", nil, &willing{}, o, slog.New(slog.DiscardHandler))
		defer p.queue.ShutDown()
		p.warn = func(context.Context, *corev1.Pod, string, string) { warned++ }
		for _, step := range []struct {
			name  string
			has   *usage
			tells int
		}{
			{"it lacks its claim", &usage{wrong: absent(claim)}, 0},
			{"the claim came", &usage{there: true}, 0},
			{"it lacks the claim again", &usage{wrong: absent(claim)}, 0},
			{"it lacks it still", &usage{wrong: absent(claim)}, 1},
			{"it cannot be read", &usage{wrong: errors.New("port 1")}, 1},
			{"it cannot be read still", &usage{wrong: errors.New("port 2")}, 2},
		} {
			o.used[claim] = step.has
			if err := p.apply(t.Context(), sides{want: pod}); (err == nil) != step.has.there {
				t.Errorf("%s: got %v", step.name, err)
			}
			if warned != step.tells {
				t.Errorf("%s: %d events, want %d", step.name, warned, step.tells)
			}
			time.Sleep(explainAfter)
		}
	})
}

func TestAnEventTellsOfEachReasonOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		p := newPods("n", nil, nil, nil, slog.New(slog.DiscardHandler))
		p.warn = func(_ context.Context, pod *corev1.Pod, _, message string) {
			told = append(told, string(pod.UID)+": "+message)
		}
		lack := func(err error) error { return &node.Failure{Reason: node.FailedMount, Err: err} }
		pod, other := object("u1"), object("u2")
		pod.Status.Phase, other.Status.Phase = corev1.PodRunning, corev1.PodRunning // the status of such a pod stays
		unbound, unattached := lack(errors.New("not bound")), lack(errors.New("not attached"))
		forbidden := lack(apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "a", errors.New("no relationship")))
		explain := func(pod *corev1.Pod, all ...error) {
			for _, why := range all {
				if err := p.explain(t.Context(), pod, nil, why); err != nil {
					t.Error(err)
				}
			}
		}
		explain(pod, unbound)
		time.Sleep(explainAfter)
		explain(pod, forbidden, unbound, unbound, errors.New("no reason for users"), unattached)
		time.Sleep(explainAfter)
		explain(pod, forbidden, unattached, unattached)
		time.Sleep(authorizes)
		explain(other, unattached, forbidden)
		time.Sleep(authorizes)
		explain(other, forbidden)
		want := []string{"u1: not bound", "u1: not attached", "u2: " + forbidden.Error()}
		if !slices.Equal(told, want) {
			t.Errorf("events tell of %q, want %q", told, want)
		}
		p.queue.ShutDown()
	})
}
