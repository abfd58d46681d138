package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"nodal/agent/config"
	nodev1 "nodal/api/gen/node/v1"
	"nodal/host/service"
	"nodal/node"
)

const updateUsage = `Usage:
  kubelet self-update [flags] FILE   replace the installed program by FILE, with a way back

The new agent has to answer, and the pods that were ready have to be ready again, or the program that was there before is put
back. Pods run on meanwhile. A loss of power in the middle ends in one of the two as well. The program before an update stays
at ` + service.Previous + `: give it as FILE to go back later.

Flags:
`

// selfUpdate replaces the program of the node by another one.
type selfUpdate struct {
	installCommand
	within time.Duration
	finish bool
}

// runUpdate updates the installed program.
func runUpdate(args []string, c Console) int {
	u := selfUpdate{installCommand: installCommand{Console: c}}
	flags := pflag.NewFlagSet("self-update", pflag.ContinueOnError)
	flags.SetOutput(c.Err)
	flags.Usage = func() { fmt.Fprint(c.Err, updateUsage, flags.FlagUsages()) }
	flags.DurationVar(&u.within, "within", 3*time.Minute, "`time` in which the node has to be as it was")
	flags.BoolVar(&u.finish, "finish", false, "finish the update that is under way")
	flags.Lookup("finish").Hidden = true // for the unit
	err := flags.Parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return 0
	case err == nil && u.finish:
		err = noMore(flags.Args())
	case err == nil && flags.NArg() != 1:
		err = errors.New("name one file: the new program")
	}
	if err != nil {
		return misused(flags, c, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if u.finish {
		err = u.end(ctx)
	} else {
		err = u.begin(ctx, flags.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(c.Err, "kubelet self-update:", err)
		return 1
	}
	return 0
}

// begin checks the new program, puts it in place, and waits until the unit has finished the update.
func (u *selfUpdate) begin(ctx context.Context, file string) error {
	var err error
	if u.config.Program, err = os.Executable(); err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	program, prepared, err := u.config.BringUpdate(file)
	if err != nil {
		return err
	}
	defer prepared.Close()
	plan, err := u.examine(ctx, program)
	if err != nil {
		return errors.Join(err, u.config.DropUpdate().Do(ctx))
	}
	steps, err := u.config.BeginUpdate(plan)
	if err != nil {
		return err
	}
	fmt.Fprintf(u.Out, "update from %s to %s; %d pods have to be ready again within %s\n", plan.From, plan.To, len(plan.Pods), plan.Within)
	if err := u.take(ctx, steps); ctx.Err() != nil {
		return fmt.Errorf("%w; systemctl status %s shows whether an update goes on", ctx.Err(), service.UpdateUnit)
	} else if err != nil {
		return err
	}
	done, err := u.config.Update()
	switch {
	case err != nil:
		return err
	case done.Stage != service.Updated:
		return fmt.Errorf("the node has %s again: %s; journalctl -u kubelet shows what the new one said", done.From, done.Reason)
	}
	fmt.Fprintf(u.Out, "The node has %s, and all is as it was. The way back: kubelet self-update %s\n", done.To, service.Previous)
	return nil
}

// examine asks the new program what it is and whether it can run this machine's node, and the present one which pods are ready.
func (u *selfUpdate) examine(ctx context.Context, program string) (plan service.Update, err error) {
	plan = service.Update{Stage: service.Trying, Within: u.within}
	if plan.To, err = versionOf(ctx, program); err != nil {
		return plan, err
	}
	if plan.From, err = versionOf(ctx, service.Program); err != nil {
		return plan, err
	}
	args, err := agentArgs(service.Settings, service.Environment)
	if err != nil {
		return plan, err
	}
	if out, err := exec.CommandContext(ctx, program, append([]string{"check"}, args...)...).CombinedOutput(); err != nil {
		return plan, fmt.Errorf("the new program cannot run this node; nothing was changed: %w\n%s", err, out)
	}
	cfg, err := config.Load(args)
	if err != nil {
		return plan, err
	}
	plan.Socket = cfg.Listen.Socket
	plan.Pods, err = readyPods(ctx, plan.Socket)
	if err != nil {
		return plan, fmt.Errorf("ask the running agent which pods are ready: %w; nothing was changed; if it is broken, kubelet install installs another one without asking it", err)
	}
	return plan, nil
}

// versionOf asks a program for its version.
func versionOf(ctx context.Context, program string) (string, error) {
	out, err := exec.CommandContext(ctx, program, "--version=json").Output()
	var all versions
	if err == nil {
		err = json.Unmarshal(out, &all)
	}
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", program, err)
	}
	return all.Kubelet, nil
}

// readyPods lists the pods that are ready, and meant to stay so.
func readyPods(ctx context.Context, socket string) (ready []service.ReadyPod, err error) {
	pods, err := podsOf(ctx, socket)
	for _, p := range pods {
		if node.IsReady(&p.Status) && stays(p) {
			one := service.ReadyPod{UID: string(p.UID), Namespace: p.Namespace, Name: p.Name}
			if owner := metav1.GetControllerOf(p); owner != nil {
				one.Owner = string(owner.UID)
			}
			ready = append(ready, one)
		}
	}
	return ready, err
}

// podsOf lists the pods of the agent that answers at a socket.
func podsOf(ctx context.Context, socket string) (pods []*corev1.Pod, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	err = withNode(socket, func(conn *nodeConn) error {
		answer, err := nodev1.NewPodsServiceClient(conn).ListPods(ctx, &nodev1.ListPodsRequest{})
		for _, m := range answer.GetPods() {
			pod := new(corev1.Pod)
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m.GetObject().AsMap(), pod); err != nil {
				return fmt.Errorf("pod %s/%s: %w", m.GetNamespace(), m.GetName(), err)
			}
			pods = append(pods, pod)
		}
		return err
	})
	return pods, err
}

// stays reports whether a pod is meant to run for good. Others may end during an update by themselves.
func stays(p *corev1.Pod) bool {
	return p.DeletionTimestamp == nil && (p.Spec.RestartPolicy == "" || p.Spec.RestartPolicy == corev1.RestartPolicyAlways)
}
