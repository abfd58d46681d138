package client

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// mostLines bounds how much of a value is shown.
const mostLines = 20

// describeOther shows what is no pod: objects, images, and the rest as get has them.
func describeOther(ctx context.Context, s *session, k kind, namespace, name string) error {
	ask := question{namespace: namespace}
	if !k.namespaced {
		ask.namespace = ""
	}
	show := &page{out: s.Out}
	if k.object == "" {
		i, err := k.get(ctx, s, ask, name)
		if err != nil {
			return (&getting{scope: scope{namespace: namespace}, kind: k}).missing(err, name)
		}
		if k.name == imageKind().name {
			return show.image(ctx, s, i)
		}
		return show.fields(i.object)
	}
	client, err := clientOf(s, nodev1.NewObjectsServiceClient)
	if err != nil {
		return err
	}
	reply, err := client.GetObject(ctx, &nodev1.GetObjectRequest{Kind: string(k.object), Namespace: ask.namespace, Name: name})
	if err != nil {
		return (&getting{scope: scope{namespace: namespace}, kind: k}).missing(err, name)
	}
	o := reply.GetObject()
	show.object(o)
	if !slices.Contains([]node.ObjectKind{node.ConfigMap, node.Secret, node.PersistentVolumeClaim}, k.object) {
		return show.err
	}
	pods, err := s.listPods(ctx, o.GetNamespace(), "")
	if err != nil {
		return err
	}
	var users []string
	for _, p := range pods {
		if slices.Contains(usesOf(podOf(p), k.object), o.GetName()) {
			users = append(users, p.GetName())
		}
	}
	show.line(0, "Used by", orNone(strings.Join(users, ", ")))
	return show.err
}

// object prints what objects have in common, then what those of a kind have.
func (p *page) object(o *nodev1.Object) {
	var meta struct {
		Metadata struct{ Labels map[string]string }
	}
	into(o.GetObject(), &meta)
	p.line(0, "Name", o.GetName())
	p.line(0, "Namespace", o.GetNamespace())
	p.line(0, "Kind", o.GetKind())
	p.line(0, "UID", o.GetUid())
	p.line(0, "Age", objectAge(o))
	p.line(0, "Labels", pairs(meta.Metadata.Labels))
	p.line(0, "From", strings.TrimSpace(o.GetSource()+" "+o.GetOrigin()))
	p.line(0, "Locked", o.GetLocked())
	switch node.ObjectKind(o.GetKind()) {
	case node.ConfigMap:
		p.configMap(o)
	case node.Secret: // its values are for get -o yaml, and for admins
		p.line(0, "Type", at(o, "type"))
		p.line(0, "Keys", orNone(strings.Join(o.GetKeys(), ", ")))
	case node.PersistentVolumeClaim:
		p.claim(o)
	case node.PersistentVolume:
		p.volume(o)
	default:
		p.err = errors.Join(p.err, p.fields(map[string]any{"spec": o.GetObject().AsMap()["spec"]}))
	}
}

func (p *page) configMap(o *nodev1.Object) {
	var of corev1.ConfigMap
	into(o.GetObject(), &of)
	if len(of.Data)+len(of.BinaryData) == 0 {
		p.line(0, "Keys", "<none>")
		return
	}
	p.head("Data")
	for _, key := range slices.Sorted(maps.Keys(of.Data)) {
		p.value(key, of.Data[key])
	}
	for _, key := range slices.Sorted(maps.Keys(of.BinaryData)) {
		p.line(2, key, fmt.Sprintf("%d bytes that are no text, %s...", len(of.BinaryData[key]),
			shortened(base64.StdEncoding.EncodeToString(of.BinaryData[key]), 16)))
	}
}

// value prints a value of several lines below its key.
func (p *page) value(key, value string) {
	lines := strings.Split(strings.TrimSuffix(value, "\n"), "\n")
	if len(lines) == 1 {
		p.line(2, key, orNone(value))
		return
	}
	p.head("  " + key)
	for i, line := range lines {
		if i == mostLines {
			line = fmt.Sprintf("... and %d lines more; get -o yaml shows all", len(lines)-mostLines)
		}
		_, err := fmt.Fprintf(p.out, "    %s\n", printable(line))
		p.err = errors.Join(p.err, err)
		if i == mostLines {
			return
		}
	}
}

func (p *page) claim(o *nodev1.Object) {
	var of corev1.PersistentVolumeClaim
	into(o.GetObject(), &of)
	p.line(0, "Status", string(of.Status.Phase))
	p.line(0, "Message", o.GetMessage())
	p.line(0, "Volume", orNone(of.Spec.VolumeName))
	p.line(0, "Requests", quantities(of.Spec.Resources.Requests))
	p.line(0, "Capacity", quantities(of.Status.Capacity))
	p.line(0, "Access modes", modes(of.Spec.AccessModes))
	if of.Spec.StorageClassName != nil {
		p.line(0, "Class", orNone(*of.Spec.StorageClassName))
	}
}

func (p *page) volume(o *nodev1.Object) {
	var of corev1.PersistentVolume
	into(o.GetObject(), &of)
	p.line(0, "Status", string(of.Status.Phase))
	p.line(0, "Message", of.Status.Message)
	if of.Spec.ClaimRef != nil {
		p.line(0, "Claim", of.Spec.ClaimRef.Namespace+"/"+of.Spec.ClaimRef.Name)
	}
	p.line(0, "Capacity", quantities(of.Spec.Capacity))
	p.line(0, "Access modes", modes(of.Spec.AccessModes))
	p.line(0, "Class", of.Spec.StorageClassName)
	p.line(0, "Reclaim policy", string(of.Spec.PersistentVolumeReclaimPolicy))
	source := "another kind; get -o yaml shows it"
	switch {
	case of.Spec.HostPath != nil:
		source = "path of the machine " + of.Spec.HostPath.Path
	case of.Spec.Local != nil:
		source = "local path " + of.Spec.Local.Path
	case of.Spec.CSI != nil:
		source = "volume " + of.Spec.CSI.VolumeHandle + " of the driver " + of.Spec.CSI.Driver
	}
	p.line(0, "Source", source)
}

func modes(all []corev1.PersistentVolumeAccessMode) string {
	texts := make([]string, len(all))
	for i, m := range all {
		texts[i] = string(m)
	}
	return strings.Join(texts, ", ")
}

// image prints an image with the pods that name it.
func (p *page) image(ctx context.Context, s *session, i item) error {
	pods, err := s.listPods(ctx, "", "")
	if err != nil {
		return err
	}
	id, _ := i.object["id"].(string)
	names := slices.Concat(textsOf(i.object["references"]), textsOf(i.object["digests"]), []string{id})
	var users []string
	for _, pod := range pods {
		if runsImage(podOf(pod), names) {
			users = append(users, pod.GetNamespace()+"/"+pod.GetName())
		}
	}
	p.line(0, "Names", strings.Join(textsOf(i.object["references"]), ", "))
	p.line(0, "Digests", strings.Join(textsOf(i.object["digests"]), ", "))
	p.line(0, "ID", id)
	p.line(0, "Size", i.cells[1])
	p.line(0, "Pinned", i.wide[0])
	p.line(0, "Used by", orNone(strings.Join(users, ", ")))
	return p.err
}

// runsImage reports whether a container of the pod runs the image, or a volume of it is the image.
func runsImage(p *corev1.Pod, names []string) bool {
	states := slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses, p.Status.EphemeralContainerStatuses)
	return slices.ContainsFunc(states, func(c corev1.ContainerStatus) bool {
		return slices.Contains(names, c.ImageID) || slices.Contains(names, c.Image)
	}) || slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.Image != nil && slices.Contains(names, v.Image.Reference) })
}

// fields prints what has no page of its own.
func (p *page) fields(object map[string]any) error {
	text, err := yaml.Marshal(object)
	if err != nil {
		return err
	}
	_, err = io.WriteString(p.out, printable(string(text)))
	return err
}
