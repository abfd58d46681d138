package cri

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubelettypes "k8s.io/kubelet/pkg/types"

	"nodal/host/cri/spec"
	"nodal/node"
)

// minStopTimeout is the shortest time between TERM and KILL, even if less is left of the pod's grace period.
const minStopTimeout = 2 * time.Second

// containers makes and ends the containers of pods.
type containers struct {
	PodConfig
	conn      *Conn
	health    *Health
	images    *Images
	keys      *keyIndex
	remover   remover
	sandboxes sandboxes
}

func (c containers) create(
	ctx context.Context, pod *node.Pod, got *node.Observed, a node.CreateContainer,
) (node.Result, error) {
	ctx, cancel := c.conn.request(ctx)
	defer cancel()
	request, err := c.request(ctx, pod, got, a)
	switch {
	case err == nil:
	case unanswered(err):
		return node.Result{}, judge(err, reasonContainerConfig, "prepare container "+a.Container)
	default:
		return node.Result{}, failure(reasonContainerConfig, err)
	}
	if err := makeLogDir(c.LogsDir, pod, a.Container); err != nil {
		return node.Result{}, failure(reasonCreateContainer, err)
	}
	reply, err := c.conn.runtime.CreateContainer(ctx, request)
	if err != nil {
		doing := "create container " + a.Container + withImages(request.Config.Mounts)
		return node.Result{}, judge(err, reasonCreateContainer, doing)
	}
	c.keys.put(reply.GetContainerId(), pod.Key())
	return node.Result{ID: reply.GetContainerId()}, nil
}

func (c containers) start(ctx context.Context, a node.StartContainer) error {
	ctx, cancel := c.conn.request(ctx)
	defer cancel()
	_, err := c.conn.runtime.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: a.ID})
	if err != nil {
		return judge(err, reasonStartContainer, "start container "+a.Container)
	}
	return nil
}

func (c containers) inspect(
	ctx context.Context, pod *node.Pod, got *node.Observed, a node.InspectContainer,
) (node.Result, error) {
	ctx, cancel := c.conn.request(ctx)
	defer cancel()
	reply, err := c.conn.runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: a.ID})
	if err != nil {
		return node.Result{}, judgeInspect(err, reasonInspectContainer, "inspect container "+a.Container)
	}
	run := inspectedContainer(reply.GetStatus())
	run.SandboxID = knownRun(got, a.ID).SandboxID // a list shows it, a status does not
	if n, ok := spec.SignalNotice(pod.Object, run); ok {
		c.warn(pod, n)
	}
	if run.State == node.ContainerExited {
		words, err := c.LastWords(ctx, endingOf(run, reply.GetStatus().GetAnnotations()))
		if err != nil { // the rest of the inspection counts all the same
			words = err.Error()
		}
		run.Message = sentence(run.Message, words)
	}
	return node.Result{ID: a.ID, Container: &run}, nil
}

// sentence joins two texts, of which either may be empty.
func sentence(first, second string) string {
	if first == "" || second == "" {
		return first + second
	}
	return first + ": " + second
}

// endingOf reads from a run's annotations how it was made: the pod's spec may have changed since.
func endingOf(c node.Container, annotations map[string]string) Ending {
	path, policy := spec.MessageOf(annotations)
	return Ending{
		Container:   c,
		MessageFile: path != "",
		LogInstead:  policy == corev1.TerminationMessageFallbackToLogsOnError && c.ExitCode != 0,
	}
}

// knownRun returns the known observation of a container, or an empty one.
func knownRun(got *node.Observed, id string) (run node.Container) {
	if got == nil {
		return run
	}
	if i := slices.IndexFunc(got.Containers, func(c node.Container) bool { return c.ID == id }); i >= 0 {
		run = got.Containers[i]
	}
	return run
}

// inspectedContainer translates a container's status. It names the image by its digest in the registry if the runtime
// knows that, as pod statuses do; a list has only the local id.
func inspectedContainer(s *runtimeapi.ContainerStatus) node.Container {
	return node.Container{
		ID:         s.GetId(),
		UID:        types.UID(s.GetLabels()[kubelettypes.KubernetesPodUIDLabel]),
		Name:       s.GetLabels()[kubelettypes.KubernetesContainerNameLabel],
		Attempt:    s.GetMetadata().GetAttempt(),
		State:      containerState(s.GetState()),
		Hash:       spec.HashOf(s.GetAnnotations()),
		Image:      cmp.Or(s.GetImage().GetUserSpecifiedImage(), s.GetImage().GetImage()),
		ImageID:    cmp.Or(s.GetImageRef(), s.GetImageId()),
		CreatedAt:  timeOf(s.GetCreatedAt()),
		StartedAt:  timeOf(s.GetStartedAt()),
		FinishedAt: timeOf(s.GetFinishedAt()),
		ExitCode:   s.GetExitCode(),
		Reason:     s.GetReason(),
		Message:    s.GetMessage(),
		LogPath:    s.GetLogPath(),
		Grace:      spec.GraceOf(s.GetAnnotations()),
		Hooked:     spec.HookedOf(s.GetAnnotations()),
		Guard:      spec.GuardOf(s.GetResources().GetLinux()),
		User:       userOf(s.GetUser().GetLinux()),
		StopSignal: spec.SignalOf(s.GetStopSignal()),
		Mounts:     mountsOf(s.GetMounts()),
		Inspected:  true,
	}
}

// mountsOf returns what is special about the mounts of a container, or nil.
func mountsOf(all []*runtimeapi.Mount) *node.Mounts {
	var deep []string
	for _, m := range all {
		if m.GetRecursiveReadOnly() {
			deep = append(deep, m.GetContainerPath())
		}
	}
	if deep == nil {
		return nil
	}
	return &node.Mounts{Deep: deep}
}

// userOf returns the user that a container was started as, if the runtime reports it.
func userOf(u *runtimeapi.LinuxContainerUser) *corev1.LinuxContainerUser {
	if u == nil {
		return nil
	}
	return &corev1.LinuxContainerUser{UID: u.GetUid(), GID: u.GetGid(), SupplementalGroups: u.GetSupplementalGroups()}
}

func (c containers) stop(ctx context.Context, a node.StopContainer) error {
	timeout := StopTimeout(a.Grace)
	ctx, cancel := context.WithTimeout(ctx, timeout+c.conn.timeout)
	defer cancel()
	_, err := c.conn.runtime.StopContainer(ctx, &runtimeapi.StopContainerRequest{
		ContainerId: a.ID, Timeout: int64(timeout / time.Second),
	})
	if err != nil && !missing(err) {
		return judge(err, reasonStopContainer, fmt.Sprintf("stop container %s within %s", a.Container, timeout))
	}
	return nil
}

// StopTimeout returns the time between TERM and KILL for the rest of a grace period. It rounds up: CRI has whole
// seconds only, and KILL must not come early.
func StopTimeout(grace time.Duration) time.Duration {
	return max(minStopTimeout, (grace + time.Second - 1).Truncate(time.Second))
}

func (c containers) remove(ctx context.Context, a node.RemoveContainer) error {
	ctx, cancel := c.conn.request(ctx)
	defer cancel()
	err := c.remover.through(ctx, func() error {
		_, err := c.conn.runtime.RemoveContainer(ctx, &runtimeapi.RemoveContainerRequest{ContainerId: a.ID})
		return err
	})
	if err != nil && !missing(err) {
		return judge(err, reasonRemoveContainer, "remove container "+a.Container)
	}
	c.keys.remove(a.ID)
	return nil
}
