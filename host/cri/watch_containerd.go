package cri

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"nodal/node"
)

// Containerd before 1.7 has no event stream in CRI, but one of its own.
const (
	containerdSubscribe = "/containerd.services.events.v1.Events/Subscribe"

	topicExit   = "/tasks/exit"
	topicOOM    = "/tasks/oom"
	topicDelete = "/containers/delete"
)

// Fields of containerd's messages.
const (
	requestFilters   = 1
	envelopeTopic    = 3
	envelopeEvent    = 4
	anyValue         = 2
	eventContainerID = 1 // in each of the topics above
	exitProcessID    = 2
)

func (r *Runtime) watchContainerd(ctx context.Context, wake func(node.Key), relist func()) error {
	stream, err := r.subscribe(ctx)
	if err != nil {
		return err
	}
	if err := r.listening(ctx); err != nil {
		return err
	}
	relist()
	for {
		envelope, err := receive(stream)
		if err != nil {
			return err
		}
		event, err := eventOf(envelope)
		if err != nil {
			return err
		}
		r.hear(ctx, event, wake, relist)
	}
}

// hear tells of an event once there is something to see of it.
func (r *Runtime) hear(ctx context.Context, event containerdEvent, wake func(node.Key), relist func()) {
	switch {
	case event.topic != topicExit:
		r.tell(event, wake, relist)
	case event.process == event.container: // else the end of a command that was run in it
		go func() {
			if r.exitKnown(ctx, event.container) {
				r.tell(event, wake, relist)
			}
		}()
	}
}

// Pauses between looks for an exit double from the first to the longest.
const (
	exitFirstPause   = 2 * time.Millisecond
	exitLongestPause = 2 * time.Second
)

// exitKnown waits until CRI knows of an exit too. containerd tells its own CRI
// plugin by the same event that it sends us, so whoever looks at once may still
// see the container running, and no second event would follow. On a machine that
// is short of breath that takes as long as it takes.
func (r *Runtime) exitKnown(ctx context.Context, id string) bool {
	for pause := exitFirstPause; !r.ended(ctx, id); pause = min(2*pause, exitLongestPause) {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(pause):
		}
	}
	return true
}

// ended says whether CRI shows a container, or else a sandbox, as ended or gone.
// One that exits at once may be shown as created, and then as running.
func (r *Runtime) ended(ctx context.Context, id string) bool {
	container, err := r.runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id})
	if !missing(err) {
		return err != nil || container.GetStatus().GetState() == runtimeapi.ContainerState_CONTAINER_EXITED
	}
	sandbox, err := r.runtime.PodSandboxStatus(ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: id})
	return err != nil || sandbox.GetStatus().GetState() == runtimeapi.PodSandboxState_SANDBOX_NOTREADY
}

func (r *Runtime) subscribe(ctx context.Context) (grpc.ClientStream, error) {
	var filters []byte
	for _, topic := range []string{topicExit, topicOOM, topicDelete} {
		filters = protowire.AppendTag(filters, requestFilters, protowire.BytesType)
		filters = protowire.AppendString(filters, fmt.Sprintf("namespace==%q,topic==%q", containerdNamespace, topic))
	}
	return callContainerd(ctx, r.conn, containerdSubscribe, filters)
}

// containerdEvent is what counts of one event.
type containerdEvent struct {
	topic     string
	container string
	process   string // that ended; the container's own has its id
}

func (r *Runtime) tell(event containerdEvent, wake func(node.Key), relist func()) {
	key, known := r.keys.find(event.container)
	switch {
	case known:
		wake(key)
	case event.topic != topicDelete: // what nobody knew of is not missed
		relist()
	}
}

func eventOf(envelope message) (containerdEvent, error) {
	wrapped, err := envelope.message(envelopeEvent)
	if err != nil {
		return containerdEvent{}, err
	}
	body, err := wrapped.message(anyValue)
	if err != nil {
		return containerdEvent{}, err
	}
	event := containerdEvent{topic: envelope.text(envelopeTopic), container: body.text(eventContainerID)}
	if event.topic == topicExit {
		event.process = body.text(exitProcessID)
	}
	return event, nil
}
