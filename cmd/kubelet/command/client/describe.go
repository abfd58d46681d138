package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"

	nodev1 "nodal/api/gen/node/v1"
)

func describeVerb() Verb {
	return Verb{
		Name: "describe", Words: "POD | KIND NAME", Short: "show all about a pod, an object or an image, and which pods use it",
		Long: `Of a pod it shows its containers, why it is not ready and its events. The kinds are those of get. Of a Secret it shows the
keys alone.`,
		Example: "kubelet describe web\nkubelet describe configmap settings\nkubelet describe -n shop claim data\nkubelet describe image registry/app:1",
		Bind: func(flags *pflag.FlagSet) action {
			var n scope
			flags.StringVarP(&n.namespace, "namespace", "n", "default", "`namespace`")
			return func(ctx context.Context, s *session, words []string) error {
				k, name, err := describable(words)
				if err != nil {
					return err
				}
				if k.name != podKind().name {
					return describeOther(ctx, s, k, n.namespace, name)
				}
				p, err := s.existing(ctx, n.namespace, name)
				if err != nil {
					return err
				}
				events, err := s.listEvents(ctx, n.namespace, name)
				if err != nil {
					return err
				}
				return describe(s.Out, p, events)
			}
		},
	}
}

// describable reads POD, KIND NAME or KIND/NAME.
func describable(words []string) (k kind, name string, err error) {
	if len(words) == 0 || len(words) > 2 {
		return k, "", misuse("want KIND NAME or the name of a pod, got %d words", len(words))
	}
	word, name, slash := strings.Cut(words[0], "/")
	k, known := kindNamed(word)
	switch {
	case slash && len(words) == 2:
		return k, "", misuse("want KIND NAME or the name of a pod, got %d words", len(words))
	case !known && (slash || len(words) == 2):
		return k, "", misuse("unknown kind %q; want one of %s", word, strings.Join(kindNames(), ", "))
	case !known || k.name == podKind().name:
		name, err = onePod(words)
		return podKind(), name, err
	case len(words) == 2:
		name = words[1]
	}
	if name == "" {
		return k, "", misuse("want the name of one of the %s", k.name)
	}
	return k, name, nil
}

// onePod reads the name of a pod: NAME, pod NAME or pod/NAME.
func onePod(words []string) (string, error) {
	if len(words) == 2 && (words[0] == "pod" || words[0] == "pods") {
		words = words[1:]
	}
	if len(words) != 1 {
		return "", misuse("want one POD, got %d words", len(words))
	}
	name := strings.TrimPrefix(words[0], "pod/")
	if name == "" || strings.Contains(name, "/") {
		return "", misuse("%q: want the name of a pod, with its namespace by -n", words[0])
	}
	return name, nil
}

// existing returns a pod, and an error with a remedy if it is not there.
func (s *session) existing(ctx context.Context, namespace, name string) (*nodev1.Pod, error) {
	p, err := s.pod(ctx, namespace, name)
	if err != nil {
		k := podKind()
		g := getting{scope: scope{namespace: namespace}, kind: k}
		return nil, g.missing(err, name)
	}
	return p, nil
}

// page prints lines of a description.
type page struct {
	out io.Writer
	err error
}

// line prints a line with its texts made harmless. A line without a value is left out.
func (p *page) line(indent int, name, value string) {
	if value == "" {
		return
	}
	_, err := fmt.Fprintf(p.out, "%s%-*s %s\n", strings.Repeat(" ", indent), 16-indent, name+":", cell(value))
	p.err = errors.Join(p.err, err)
}

func (p *page) head(name string) {
	_, err := fmt.Fprintln(p.out, printable(name)+":")
	p.err = errors.Join(p.err, err)
}

// describe prints a pod.
func describe(out io.Writer, p *nodev1.Pod, events []item) error {
	of, show := podOf(p), &page{out: out}
	show.line(0, "Name", p.GetName())
	show.line(0, "Namespace", p.GetNamespace())
	show.line(0, "UID", p.GetUid())
	show.line(0, "Source", p.GetSource())
	show.line(0, "Accepted", localTime(p.GetAcceptedAt())+" ("+age(p.GetAcceptedAt())+" ago)")
	show.line(0, "Labels", pairs(of.Labels))
	show.line(0, "Status", statusOf(p))
	show.line(0, "Message", p.GetMessage())
	if p.GetDeletionDeadline() != nil {
		show.line(0, "Ends until", localTime(p.GetDeletionDeadline()))
	}
	show.line(0, "IP", strings.Join(p.GetPodIps(), ", "))
	show.line(0, "Priority class", of.Spec.PriorityClassName)
	show.containers("Init containers", of.Spec.InitContainers, of.Status.InitContainerStatuses)
	show.containers("Containers", of.Spec.Containers, of.Status.ContainerStatuses)
	show.ephemeral(of)
	show.conditions(of)
	show.volumes(of)
	if len(events) > 0 {
		show.head("Events")
		t := table{out: out, head: append([]string{" "}, eventKind().heads...)}
		rows := make([][]string, len(events))
		for i, e := range events {
			rows[i] = append([]string{""}, e.cells...)
		}
		show.err = errors.Join(show.err, t.print(rows...))
	}
	return show.err
}

// pairs writes labels in their order.
func pairs(labels map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, name+"="+labels[name])
	}
	return strings.Join(all, ", ")
}

func (p *page) conditions(of *corev1.Pod) {
	if len(of.Status.Conditions) == 0 {
		return
	}
	p.head("Conditions")
	t := table{out: p.out, head: []string{" ", "TYPE", "STATUS", "REASON", "MESSAGE"}}
	var rows [][]string
	for _, c := range of.Status.Conditions {
		rows = append(rows, []string{"", string(c.Type), string(c.Status), c.Reason, c.Message})
	}
	p.err = errors.Join(p.err, t.print(rows...))
}

func (p *page) volumes(of *corev1.Pod) {
	if len(of.Spec.Volumes) == 0 {
		return
	}
	p.head("Volumes")
	for _, v := range of.Spec.Volumes {
		p.line(2, v.Name, volumeSource(v))
	}
}

// volumeSource says of what a volume is made.
func volumeSource(v corev1.Volume) string {
	switch {
	case v.ConfigMap != nil:
		return "ConfigMap " + v.ConfigMap.Name
	case v.Secret != nil:
		return "Secret " + v.Secret.SecretName
	case v.PersistentVolumeClaim != nil:
		return "PersistentVolumeClaim " + v.PersistentVolumeClaim.ClaimName
	case v.HostPath != nil:
		return "path of the machine " + v.HostPath.Path
	case v.EmptyDir != nil:
		return "empty directory"
	case v.Projected != nil:
		return "projected"
	case v.Image != nil:
		return "image " + v.Image.Reference
	}
	return "another kind; kubelet get POD -o yaml shows it"
}
