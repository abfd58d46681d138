package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"nodal/node/manifest/rules"
	"nodal/node/spelling"
)

// foreign says why an object is not taken, and what to post in its place: the kind that
// was meant, the pod template in the object, or the field of a pod that does the same.
func (b *bundle) foreign(version, kind string, object []byte) string {
	is := fmt.Sprintf("is %s of %s", rules.Clip(kind), rules.Clip(version))
	rule := is + ", but a node takes " + Kinds()
	if t, ok := templateIn(object); ok {
		return rule + "; " + t.remedy()
	}
	if meant := b.meantKind(kind); meant != "" {
		return is + ", which a node does not take; did you mean " + meant + "?"
	}
	if remedy := instead[kind]; remedy != "" {
		return rule + "; " + remedy
	}
	return rule
}

const publish = "to reach a pod from outside, post a Service of type NodePort, or give a port of its container a hostPort"

// instead says what does on a node what an object of another kind does in a cluster.
var instead = map[string]string{
	"Ingress":   "a node has no Ingresses: " + publish,
	"Namespace": "a namespace needs no object here: name it in metadata.namespace of what is posted",
}

// meantKind returns a kind that is taken and is spelled like another, with its version.
func (b *bundle) meantKind(kind string) string {
	versions := b.versions()
	nearest, least := "", 1+max(1, len(kind)/4)
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		if len(kind) > longestName {
			break
		}
		if d := spelling.Distance(strings.ToLower(name), strings.ToLower(kind)); d < least {
			nearest, least = name, d
		}
	}
	if nearest == "" {
		return ""
	}
	return nearest + " of " + versions[nearest]
}

// versions returns the kinds that are taken, each with its version.
func (b *bundle) versions() map[string]string {
	versions := map[string]string{"Pod": "v1", "PodList": "v1", "List": "v1"}
	for _, r := range readers() {
		versions[string(r.Name)] = r.Version
	}
	return versions
}

// versionOf says in words which version an object of a kind has to name.
func (b *bundle) versionOf(kind string) string {
	if version, ok := b.versions()[kind]; ok {
		return version + " for a " + kind
	}
	return "v1, or the group and version of the kind"
}

// template is the pod template of a workload.
type template struct {
	path     string
	name     string // of the workload
	replicas int
}

// templateIn finds the pod template of an object, whatever its kind.
func templateIn(object []byte) (template, bool) {
	type withTemplate struct {
		Replicas int `json:"replicas"`
		Template struct {
			Spec struct {
				Containers []json.RawMessage `json:"containers"`
			} `json:"spec"`
		} `json:"template"`
	}
	var workload struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Spec struct {
			withTemplate
			JobTemplate struct {
				Spec withTemplate `json:"spec"`
			} `json:"jobTemplate"`
		} `json:"spec"`
	}
	if json.Unmarshal(object, &workload) != nil {
		return template{}, false
	}
	t := template{path: "spec.template", name: workload.Metadata.Name, replicas: workload.Spec.Replicas}
	if len(workload.Spec.Template.Spec.Containers) > 0 {
		return t, true
	}
	t.path = "spec.jobTemplate.spec.template"
	return t, len(workload.Spec.JobTemplate.Spec.Template.Spec.Containers) > 0
}

func (t template) remedy() string {
	name := "NAME"
	if t.name != "" {
		name = rules.Clip(t.name)
	}
	remedy := fmt.Sprintf("post its pod template as a pod: write apiVersion: v1, kind: Pod, metadata: {name: %s}, "+
		"and move what stands below %s.spec to spec, and labels from %s.metadata to metadata", name, t.path, t.path)
	if t.replicas > 1 {
		remedy += fmt.Sprintf("; for %d replicas post %d pods, each with a name of its own", t.replicas, t.replicas)
	}
	return remedy
}

// composeIn says that an object is a Compose file, with its first service as a pod; "" if
// it is none.
func (b *bundle) composeIn(object []byte) string {
	var file struct {
		Services map[string]struct {
			Image string `json:"image"`
		} `json:"services"`
	}
	if json.Unmarshal(object, &file) != nil || len(file.Services) == 0 {
		return ""
	}
	names := slices.Sorted(maps.Keys(file.Services))
	first := names[0]
	image := file.Services[first].Image
	if image == "" {
		image = "IMAGE"
	}
	return fmt.Sprintf("is a Compose file, but a node takes Kubernetes manifests: %s; write each service (%s) as a pod or as a container of one: "+
		"{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {containers: [{name: %s, image: '%s'}]}}",
		Kinds(), rules.Clip(strings.Join(names, ", ")), rules.Clip(first), rules.Clip(first), rules.Clip(image))
}
