package spec

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node"
)

func TestExpand(t *testing.T) {
	env := &Variables{values: map[string]string{"A": "1", "DOLLAR": "$(A)"}}
	for text, want := range map[string]string{
		"plain":          "plain",
		"$(A)":           "1",
		"a$(A)b$(A)":     "a1b1",
		"$$(A)":          "$(A)",
		"$$$(A)":         "$1",
		"$(UNKNOWN)":     "$(UNKNOWN)",
		"$(A":            "$(A",
		"$A ${A} $":      "$A ${A} $",
		"$(DOLLAR)":      "$(A)",
		"$()":            "$()",
		"100$ and $(A)%": "100$ and 1%",
	} {
		if got := env.expand(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func field(path string) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}
}

func amount(name, divisor string) *corev1.EnvVarSource {
	ref := &corev1.ResourceFieldSelector{Resource: name}
	if divisor != "" {
		ref.Divisor = resource.MustParse(divisor)
	}
	return &corev1.EnvVarSource{ResourceFieldRef: ref}
}

func envInput(env ...corev1.EnvVar) (Node, Run) {
	pod := specPod(func(p *corev1.Pod) {
		p.Labels = map[string]string{"example.org/app": "shop"}
		p.Annotations = map[string]string{"note": "kept"}
		p.Spec.ServiceAccountName = "robot"
		p.Spec.Containers[0].Env = env
		p.Spec.Containers[0].Resources = corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("250m"), "memory": resource.MustParse("10Mi")},
			Limits:   corev1.ResourceList{"cpu": resource.MustParse("1500m")},
		}
	})
	run := runOf(pod)
	run.IPs = []string{"10.0.0.2", "fd00::2"}
	return Node{Machine: Machine{
		Name: "here", IPs: []string{"192.0.2.1", "2001:db8::1"},
		Allocatable: corev1.ResourceList{"memory": resource.MustParse("2Gi")},
	}}, run
}

func TestEnvironmentValues(t *testing.T) {
	for _, test := range []struct {
		name string
		from *corev1.EnvVarSource
		want string
	}{
		{"the pod's name", field("metadata.name"), "web"},
		{"its namespace", field("metadata.namespace"), "default"},
		{"its UID", field("metadata.uid"), "uid-1"},
		{"a label", field("metadata.labels['example.org/app']"), "shop"},
		{"an annotation", field("metadata.annotations['note']"), "kept"},
		{"a label that is not there", field("metadata.labels['none']"), ""},
		{"the node's name", field("spec.nodeName"), "here"},
		{"the service account", field("spec.serviceAccountName"), "robot"},
		{"the node's address", field("status.hostIP"), "192.0.2.1"},
		{"the node's addresses", field("status.hostIPs"), "192.0.2.1,2001:db8::1"},
		{"the pod's address", field("status.podIP"), "10.0.0.2"},
		{"the pod's addresses", field("status.podIPs"), "10.0.0.2,fd00::2"},
		{"a CPU limit, rounded up to whole CPUs", amount("limits.cpu", ""), "2"},
		{"a CPU limit in thousandths", amount("limits.cpu", "1m"), "1500"},
		{"a CPU request, rounded up", amount("requests.cpu", ""), "1"},
		{"a memory request in mebibytes", amount("requests.memory", "1Mi"), "10"},
		{"a memory request in bytes", amount("requests.memory", ""), "10485760"},
		{"a limit that is not set is what the node has", amount("limits.memory", "1Gi"), "2"},
		{"a request that is not set", amount("requests.ephemeral-storage", ""), "0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			here, run := envInput(corev1.EnvVar{Name: "V", ValueFrom: test.from})
			env, err := here.Environment(run, objects, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := env.values["V"]; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestEnvironmentIsBuiltInOrder(t *testing.T) {
	here, run := envInput(
		corev1.EnvVar{Name: "LATE", Value: "$(A)"},
		corev1.EnvVar{Name: "A", Value: "1"},
		corev1.EnvVar{Name: "B", Value: "$(A)2"},
		corev1.EnvVar{Name: "A", Value: "3"},
		corev1.EnvVar{Name: "C", Value: "$(A)$(B)"},
	)
	env, err := here.Environment(run, objects, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, kv := range env.over(nil) {
		got = append(got, kv.Key+"="+string(kv.Value))
	}
	if want := "LATE=$(A) A=3 B=12 C=312"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEnvironmentFromObjects(t *testing.T) {
	here, run := envInput(
		corev1.EnvVar{Name: "ONE", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "c"}, Key: "a"}}},
		corev1.EnvVar{Name: "B", Value: "own"},
		corev1.EnvVar{Name: "NONE", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "c"}, Key: "z", Optional: new(true)}}},
	)
	run.Container.EnvFrom = []corev1.EnvFromSource{
		{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}}},
		{Prefix: "S_", SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}}},
		{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "none"}, Optional: new(true)}},
	}
	env, err := here.Environment(run, objects, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, kv := range env.over(nil) {
		got = append(got, kv.Key+"="+string(kv.Value))
	}
	if want := "B=own a=1 S_k=hidden ONE=1"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestALockedSecretIsNotTakenForAMissingOne(t *testing.T) {
	away := errors.New("its key is away")
	locked := func(node.ObjectRef) (*node.Object, bool) {
		o := node.NewObject(&corev1.Secret{})
		o.Locked = away
		return o, true
	}
	named := corev1.LocalObjectReference{Name: "s"}
	here, one := envInput(corev1.EnvVar{Name: "ONE", ValueFrom: &corev1.EnvVarSource{
		SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: named, Key: "k", Optional: new(true)},
	}})
	_, all := envInput()
	all.Container.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: named, Optional: new(true)}}}
	for _, run := range []Run{one, all} {
		if env, err := here.Environment(run, locked, nil); !errors.Is(err, away) {
			t.Errorf("got %v, %v; want the reason, though it is optional", env, err)
		}
	}
}

// objects are a config map c and a secret s.
func objects(ref node.ObjectRef) (*node.Object, bool) {
	switch ref {
	case node.ObjectRef{Kind: node.ConfigMap, Namespace: "default", Name: "c"}:
		return node.NewObject(&corev1.ConfigMap{Data: map[string]string{"a": "1", "B": "2", "not=a name": "3"}}), true
	case node.ObjectRef{Kind: node.Secret, Namespace: "default", Name: "s"}:
		return node.NewObject(&corev1.Secret{Data: map[string][]byte{"k": []byte("hidden")}}), true
	}
	return nil, false
}

func TestEnvironmentRefusesUnknownFieldsAndResources(t *testing.T) {
	secret := func(optional *bool) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "none"}, Key: "k", Optional: optional,
		}}
	}
	for _, test := range []struct {
		name string
		from *corev1.EnvVarSource
		want error
	}{
		{"a field that is not for containers", field("spec.hostname"), node.ErrInvalid},
		{"a resource that is not counted", amount("limits.cows", ""), node.ErrInvalid},
		{"neither request nor limit", amount("hopes.cpu", ""), node.ErrInvalid},
		{"a secret that need not be there", secret(new(true)), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			here, run := envInput(corev1.EnvVar{Name: "V", ValueFrom: test.from})
			env, err := here.Environment(run, objects, nil)
			if !errors.Is(err, test.want) {
				t.Fatalf("got %v, want %v", err, test.want)
			}
			if err == nil && len(env.names) != 0 {
				t.Errorf("got %v, want no variable", env.names)
			}
		})
	}
	here, run := envInput(corev1.EnvVar{Name: "V", ValueFrom: secret(nil)})
	if _, err := here.Environment(run, objects, nil); err == nil || !strings.HasSuffix(err.Error(), `secret "none" not found`) {
		t.Errorf("without the secret: got %v, want Kubernetes' words for that", err)
	}
}
