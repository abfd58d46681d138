package client

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"

	nodev1 "nodal/api/gen/node/v1"
)

// mostLogs bounds how many logs are followed at once: each is a stream of its own.
const mostLogs = 64

// reading is one call of logs.
type reading struct {
	namespace, container, selector, grep string
	each                                 bool // all containers of a pod
	follow, previous, timestamps         bool
	since                                time.Duration
	tail                                 int64
	lines                                *regexp.Regexp // which to show; nil shows all
	only                                 *run           // the run to read; nil stands for the present one
}

func logsVerb() Verb {
	return Verb{
		Name: "logs", Words: "POD...", Short: "print what containers write",
		Long: `Several logs have the name of their pod before each line, in colour on a terminal. --tail counts lines before --grep
leaves some out. On a terminal, control characters other than those of colours are shown as text. -f with -l goes on until
it is interrupted, and takes pods that come later and further runs of containers.`,
		Example: "kubelet logs web -f --tail 20\nkubelet logs -l app=web --since 10m --grep 'error|panic'\nkubelet logs web -p",
		Bind: func(flags *pflag.FlagSet) action {
			var r reading
			flags.StringVarP(&r.namespace, "namespace", "n", "default", "`namespace`")
			flags.StringVarP(&r.container, "container", "c", "", "`container` (default: the first one)")
			flags.BoolVar(&r.each, "all-containers", false, "all containers of a pod, those for its start too")
			flags.StringVarP(&r.selector, "selector", "l", "", "the logs of all pods that these `labels` fit")
			flags.BoolVarP(&r.follow, "follow", "f", false, "go on with what is written, until the container ends; with -l for good")
			flags.BoolVarP(&r.previous, "previous", "p", false, "the run before the present one")
			flags.DurationVar(&r.since, "since", 0, "only lines of the last `time`, such as 10m")
			flags.Int64Var(&r.tail, "tail", -1, "only the last `lines` of each log (default: all)")
			flags.BoolVar(&r.timestamps, "timestamps", false, "the time before each line")
			flags.StringVar(&r.grep, "grep", "", "only lines that this `regexp` fits")
			return r.run
		},
	}
}

// source is one log.
type source struct{ pod, container string }

func (s source) String() string { return s.pod + "/" + s.container }

func (r *reading) run(ctx context.Context, s *session, words []string) error {
	if err := r.check(words); err != nil {
		return err
	}
	if r.follow && r.selector != "" {
		return streamEnd(ctx, r.followLabels(ctx, s))
	}
	pods, err := r.pods(ctx, s, words)
	if err != nil {
		return err
	}
	var sources []source
	for _, p := range pods {
		names, err := r.containers(podOf(p))
		if err != nil {
			return fmt.Errorf("pod %s/%s: %w", p.GetNamespace(), p.GetName(), err)
		}
		for _, name := range names {
			sources = append(sources, source{p.GetName(), name})
		}
	}
	if r.follow && len(sources) > mostLogs {
		return fmt.Errorf("%d logs are too many to follow at once; select at most %d", len(sources), mostLogs)
	}
	return streamEnd(ctx, r.read(ctx, s, sources))
}

func (r *reading) check(words []string) (err error) {
	switch {
	case len(words) == 0 && r.selector == "":
		return misuse("POD missing: want names of pods, or labels with -l")
	case len(words) > 0 && r.selector != "":
		return misuse("give names of pods or -l, not both")
	case r.container != "" && r.each:
		return misuse("give -c or --all-containers, not both")
	case r.since < 0:
		return misuse("--since %s: want a time such as 10m", r.since)
	case r.follow && r.previous:
		return misuse("the run before has ended: leave -f out")
	}
	if r.grep != "" {
		if r.lines, err = regexp.Compile(r.grep); err != nil {
			return misuse("--grep: %v", err)
		}
	}
	return nil
}

// pods returns the pods of these names, or those that the labels fit.
func (r *reading) pods(ctx context.Context, s *session, words []string) (pods []*nodev1.Pod, err error) {
	if r.selector != "" {
		pods, err = s.listPods(ctx, r.namespace, r.selector)
		if err == nil && len(pods) == 0 {
			err = fmt.Errorf("no pod of namespace %s has labels %s; kubelet get pods -A lists them all", r.namespace, r.selector)
		}
		return pods, err
	}
	for _, word := range words {
		name, err := onePod([]string{word})
		if err != nil {
			return nil, err
		}
		p, err := s.existing(ctx, r.namespace, name)
		if err != nil {
			return nil, err
		}
		pods = append(pods, p)
	}
	return pods, nil
}

// containers names the containers of a pod whose logs are wanted.
func (r *reading) containers(p *corev1.Pod) ([]string, error) {
	if r.each {
		return containerNames(p), nil
	}
	name, err := containerOf(p, r.container)
	return []string{name}, err
}

// read reads logs one after the other, or side by side if they are followed.
func (r *reading) read(ctx context.Context, s *session, sources []source) error {
	client, err := clientOf(s, nodev1.NewLogsServiceClient)
	if err != nil {
		return err
	}
	_, onTerminal := terminal(s.Out)
	var lock sync.Mutex
	var all []func() error
	for i, from := range sources {
		w := &lineWriter{out: s.Out, lock: &lock, fits: r.lines, plain: onTerminal, prefix: prefixOf(sources, i, onTerminal)}
		all = append(all, func() error {
			if err := r.copy(ctx, client, from, w); err != nil {
				return fmt.Errorf("log of %s/%s: %s", from.pod, from.container, s.explain(err))
			}
			return w.end()
		})
	}
	if !r.follow {
		errs := make([]error, len(all))
		for i, read := range all {
			errs[i] = read()
		}
		return errors.Join(errs...)
	}
	results := make(chan error, len(all))
	for _, read := range all {
		go func() { results <- read() }()
	}
	errs := make([]error, len(all))
	for i := range all {
		errs[i] = <-results
	}
	return errors.Join(errs...)
}

// request asks for one log.
func (r *reading) request(from source) *nodev1.ReadLogsRequest {
	ask := &nodev1.ReadLogsRequest{
		Namespace: r.namespace, Name: from.pod, Container: from.container,
		Follow: r.follow, Previous: r.previous, Timestamps: r.timestamps,
	}
	if r.only != nil {
		ask.Uid, ask.Attempt = r.only.uid, &r.only.attempt
	}
	if r.since > 0 {
		seconds := int64((r.since + time.Second - 1) / time.Second)
		ask.SinceSeconds = &seconds
	}
	if r.tail >= 0 {
		ask.TailLines = &r.tail
	}
	return ask
}

// containerNames names all containers of a pod in the order in which they start.
func containerNames(p *corev1.Pod) (names []string) {
	for _, c := range p.Spec.InitContainers {
		names = append(names, c.Name)
	}
	for _, c := range p.Spec.Containers {
		names = append(names, c.Name)
	}
	for _, c := range p.Spec.EphemeralContainers {
		names = append(names, c.Name)
	}
	return names
}

// defaultContainer is Kubernetes' annotation for the container that is meant if none is named.
const defaultContainer = "kubectl.kubernetes.io/default-container"

// containerOf returns the name of the container that is meant.
func containerOf(p *corev1.Pod, wanted string) (string, error) {
	names := containerNames(p)
	switch {
	case wanted != "" && !slices.Contains(names, wanted):
		return "", fmt.Errorf("no container %q; it has %s", wanted, join(names))
	case wanted != "":
		return wanted, nil
	case slices.Contains(names, p.Annotations[defaultContainer]):
		return p.Annotations[defaultContainer], nil
	case len(p.Spec.Containers) == 0:
		return "", errors.New("no container is known of it; name one with -c")
	}
	return p.Spec.Containers[0].Name, nil
}
