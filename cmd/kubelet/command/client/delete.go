package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	nodev1 "nodal/api/gen/node/v1"
)

// deletion is one call of delete.
type deletion struct {
	manifestFiles
	namespace string
	grace     int64
	wait      bool
	timeout   time.Duration
}

func deleteVerb() Verb {
	return Verb{
		Name: "delete", Words: "POD... | KIND NAME... | -f FILE", Short: "delete pods and objects",
		Long:    "A pod ends within its grace period, and delete waits for that. Objects in use stay until no pod uses them.",
		Example: "kubelet delete web\nkubelet delete configmap settings\nkubelet delete -f web.yaml --wait=false",
		Bind: func(flags *pflag.FlagSet) action {
			var d deletion
			d.manifestFiles.bind(flags)
			flags.StringVarP(&d.namespace, "namespace", "n", "default", "`namespace`")
			flags.Int64Var(&d.grace, "grace-period", -1, "`seconds` until a pod is killed (default: what the pod says)")
			flags.BoolVar(&d.wait, "wait", true, "wait until the pods are gone")
			flags.DurationVar(&d.timeout, "timeout", 0, "wait this `long` at most (default: without end)")
			return d.run
		},
	}
}

func (d *deletion) run(ctx context.Context, s *session, words []string) error {
	if len(d.names) > 0 {
		return d.bundle(ctx, s, words)
	}
	if len(words) == 0 {
		return misuse("want names of pods, a kind and names, or -f")
	}
	k, ok := kindNamed(words[0])
	if before, name, cut := strings.Cut(words[0], "/"); cut {
		if k, ok = kindNamed(before); !ok {
			return misuse("unknown kind %q; want one of %s", before, strings.Join(kindNames(), ", "))
		}
		words = append([]string{"", name}, words[1:]...)
	}
	switch {
	case !ok:
		return d.pods(ctx, s, words)
	case len(words) < 2:
		return misuse("want the names of the %s to delete", k.name)
	case k.name == podKind().name:
		return d.pods(ctx, s, words[1:])
	case k.name == imageKind().name:
		return misuse("kubelet images rm removes images")
	case k.object == "":
		return misuse("%s cannot be deleted", k.name)
	}
	return d.objects(ctx, s, k, words[1:])
}

// bundle deletes what manifests name.
func (d *deletion) bundle(ctx context.Context, s *session, words []string) error {
	text, err := d.read(s, words)
	if err != nil {
		return err
	}
	client, err := clientOf(s, nodev1.NewManifestsServiceClient)
	if err != nil {
		return err
	}
	reply, err := client.Delete(ctx, &nodev1.DeleteRequest{Manifest: text, GracePeriodSeconds: d.period()})
	if err != nil {
		return err
	}
	if len(reply.GetOutcomes()) == 0 {
		s.note(errors.New("nothing of it is there"))
		return nil
	}
	if err := s.outcomes(reply.GetOutcomes()); err != nil {
		return err
	}
	for _, o := range reply.GetOutcomes() {
		if o.GetKind() == "Pod" {
			if err := d.await(ctx, s, o.GetNamespace(), o.GetName(), o.GetUid()); err != nil {
				return err
			}
		}
	}
	return nil
}

// period returns the grace period of the flag. Nil leaves it to the pod.
func (d *deletion) period() *int64 {
	if d.grace < 0 {
		return nil
	}
	return &d.grace
}

// pods deletes pods by name. It goes on after one that is not there.
func (d *deletion) pods(ctx context.Context, s *session, names []string) error {
	client, err := s.pods()
	if err != nil {
		return err
	}
	var errs []error
	var deleted []*nodev1.Pod
	for _, name := range names {
		reply, err := client.DeletePod(ctx, &nodev1.DeletePodRequest{Namespace: d.namespace, Name: name, GracePeriodSeconds: d.period()})
		if status.Code(err) == codes.NotFound {
			g := getting{scope: scope{namespace: d.namespace}, kind: podKind()}
			err = g.missing(err, name)
		}
		if err != nil {
			errs = append(errs, errors.New(s.explain(err)))
			continue
		}
		fmt.Fprintf(s.Out, "pod/%s deleted\n", printable(name))
		deleted = append(deleted, reply.GetPod())
	}
	for _, p := range deleted {
		errs = append(errs, d.await(ctx, s, d.namespace, p.GetName(), p.GetUid()))
	}
	return errors.Join(errs...)
}

// await waits until a pod is gone, if that is wanted.
func (d *deletion) await(ctx context.Context, s *session, namespace, name, uid string) error {
	if !d.wait {
		return nil
	}
	return waitFor(ctx, s, d.timeout, &waiting{state: "deleted", namespace: namespace, names: []string{name}, uid: uid})
}

// objects deletes objects by name. It goes on after one that is not there.
func (d *deletion) objects(ctx context.Context, s *session, k kind, names []string) error {
	client, err := clientOf(s, nodev1.NewObjectsServiceClient)
	if err != nil {
		return err
	}
	namespace := ""
	if k.namespaced {
		namespace = d.namespace
	}
	var errs []error
	for _, name := range names {
		_, err := client.DeleteObject(ctx, &nodev1.DeleteObjectRequest{Kind: string(k.object), Namespace: namespace, Name: name})
		if err != nil {
			errs = append(errs, errors.New(s.explain(err)))
			continue
		}
		fmt.Fprintf(s.Out, "%s/%s deleted\n", strings.ToLower(string(k.object)), printable(name))
	}
	return errors.Join(errs...)
}

func restartVerb() Verb {
	return Verb{
		Name: "restart", Words: "POD...", Short: "restart the containers of a pod",
		Long:    "They end within the pod's grace period and start at once. The pod stays: its address and its volumes too.",
		Example: "kubelet restart web\nkubelet restart web -c proxy",
		Bind: func(flags *pflag.FlagSet) action {
			var namespace, container string
			flags.StringVarP(&namespace, "namespace", "n", "default", "`namespace`")
			flags.StringVarP(&container, "container", "c", "", "`container` (default: all)")
			return func(ctx context.Context, s *session, words []string) error {
				if len(words) == 0 {
					return misuse("POD missing: want names of pods")
				}
				for _, word := range words {
					name, err := onePod([]string{word})
					if err != nil {
						return err
					}
					if _, err := s.existing(ctx, namespace, name); err != nil {
						return err
					}
					client, err := s.pods()
					if err != nil {
						return err
					}
					reply, err := client.RestartPod(ctx, &nodev1.RestartPodRequest{Namespace: namespace, Name: name, Container: container})
					if err != nil {
						return err
					}
					fmt.Fprintf(s.Out, "pod/%s restarts within %s\n", printable(name), reply.GetGracePeriod().AsDuration())
				}
				return nil
			}
		},
	}
}
