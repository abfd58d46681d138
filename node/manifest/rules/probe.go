package rules

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// lifecycleCheck holds the rules of probes and hooks.
type lifecycleCheck struct {
	*check
	pod *corev1.Pod
}

// runningContainer checks hooks and probes of a container that is meant to stay.
func (c lifecycleCheck) runningContainer(container *corev1.Container, at *field.Path) {
	c.probe(container.LivenessProbe, at.Child("livenessProbe"))
	c.probe(container.ReadinessProbe, at.Child("readinessProbe"))
	c.probe(container.StartupProbe, at.Child("startupProbe"))
	c.succeedsAtOnce(container.LivenessProbe, at.Child("livenessProbe"))
	c.succeedsAtOnce(container.StartupProbe, at.Child("startupProbe"))
	if p := container.ReadinessProbe; p != nil && p.TerminationGracePeriodSeconds != nil {
		c.refused(at.Child("readinessProbe", "terminationGracePeriodSeconds"), "may not be set: an unready container is not ended")
	}
	if hooks := container.Lifecycle; hooks != nil {
		c.hook(hooks.PostStart, at.Child("lifecycle", "postStart"))
		c.hook(hooks.PreStop, at.Child("lifecycle", "preStop"))
		if hooks.StopSignal != nil {
			c.stopSignal(*hooks.StopSignal, at.Child("lifecycle", "stopSignal"))
		}
	}
}

func (c lifecycleCheck) probe(p *corev1.Probe, at *field.Path) {
	if p == nil {
		return
	}
	c.handler(handler{exec: p.Exec, httpGet: p.HTTPGet, tcp: p.TCPSocket, grpc: p.GRPC}, at,
		member{"exec", p.Exec != nil}, member{"httpGet", p.HTTPGet != nil},
		member{"tcpSocket", p.TCPSocket != nil}, member{"grpc", p.GRPC != nil})
	c.notNegative(at.Child("initialDelaySeconds"), int64(p.InitialDelaySeconds))
	c.notNegative(at.Child("timeoutSeconds"), int64(p.TimeoutSeconds))
	c.notNegative(at.Child("periodSeconds"), int64(p.PeriodSeconds))
	c.notNegative(at.Child("successThreshold"), int64(p.SuccessThreshold))
	c.notNegative(at.Child("failureThreshold"), int64(p.FailureThreshold))
	if grace := p.TerminationGracePeriodSeconds; grace != nil && *grace <= 0 {
		c.bad(at.Child("terminationGracePeriodSeconds"), *grace, "must be greater than 0")
	}
}

// succeedsAtOnce wants a threshold of one, for probes whose first success is final.
func (c lifecycleCheck) succeedsAtOnce(p *corev1.Probe, at *field.Path) {
	if p != nil && p.SuccessThreshold != 1 {
		c.bad(at.Child("successThreshold"), p.SuccessThreshold, "must be 1")
	}
}

func (c lifecycleCheck) hook(h *corev1.LifecycleHandler, at *field.Path) {
	if h == nil {
		return
	}
	c.handler(handler{exec: h.Exec, httpGet: h.HTTPGet, tcp: h.TCPSocket}, at,
		member{"exec", h.Exec != nil}, member{"httpGet", h.HTTPGet != nil},
		member{"tcpSocket", h.TCPSocket != nil}, member{"sleep", h.Sleep != nil})
	grace := c.pod.Spec.TerminationGracePeriodSeconds
	if h.Sleep != nil && grace != nil && (h.Sleep.Seconds < 0 || h.Sleep.Seconds > *grace) {
		c.bad(at.Child("sleep", "seconds"), h.Sleep.Seconds,
			fmt.Sprintf("must be between 0 and terminationGracePeriodSeconds, which is %d", *grace))
	}
}

// handler holds the common part of probes and hooks.
type handler struct {
	exec    *corev1.ExecAction
	httpGet *corev1.HTTPGetAction
	tcp     *corev1.TCPSocketAction
	grpc    *corev1.GRPCAction
}

func (c lifecycleCheck) handler(h handler, at *field.Path, members ...member) {
	c.exactlyOne(at, members...)
	if h.exec != nil && len(h.exec.Command) == 0 {
		c.missing(at.Child("exec", "command"), "")
	}
	if h.httpGet != nil {
		c.httpGet(h.httpGet, at.Child("httpGet"))
	}
	if h.tcp != nil {
		c.portNumberOrName(h.tcp.Port, at.Child("tcpSocket", "port"))
	}
	if h.grpc != nil {
		c.badEach(at.Child("grpc", "port"), h.grpc.Port, validation.IsValidPortNum(int(h.grpc.Port)))
		optionalOneOf(c.check, at.Child("grpc", "mode"), h.grpc.Mode, corev1.GRPCProbeModePlaintext, corev1.GRPCProbeModeTLS)
	}
}

func (c lifecycleCheck) httpGet(get *corev1.HTTPGetAction, at *field.Path) {
	c.given(at.Child("path"), get.Path)
	c.portNumberOrName(get.Port, at.Child("port"))
	oneOf(c.check, at.Child("scheme"), get.Scheme, corev1.URISchemeHTTP, corev1.URISchemeHTTPS)
	optionalOneOf(c.check, at.Child("protocol"), get.Protocol, corev1.HTTPProtocolHTTP1, corev1.HTTPProtocolHTTP2)
	if get.Protocol != nil && *get.Protocol == corev1.HTTPProtocolHTTP2 && get.Scheme != corev1.URISchemeHTTP {
		c.bad(at.Child("protocol"), *get.Protocol, "must be HTTP1 unless scheme is HTTP")
	}
	for i, header := range get.HTTPHeaders {
		c.badEach(at.Child("httpHeaders").Index(i).Child("name"), header.Name, validation.IsHTTPHeaderName(header.Name))
	}
}

func (c lifecycleCheck) portNumberOrName(port intstr.IntOrString, at *field.Path) {
	if port.Type == intstr.String {
		c.badEach(at, port.StrVal, validation.IsValidPortName(port.StrVal))
	} else {
		c.badEach(at, port.IntVal, validation.IsValidPortNum(int(port.IntVal)))
	}
}

// realTime signals are counted from both ends, up to the middle.
var realTime = regexp.MustCompile(`^SIGRT(MIN(\+([1-9]|1[0-5]))?|MAX(-([1-9]|1[0-4]))?)$`)

// stopSignal requires a signal of Linux, and the pod to say that it is for Linux:
// other systems have other signals.
func (c lifecycleCheck) stopSignal(signal corev1.Signal, at *field.Path) {
	const signals = " SIGABRT SIGALRM SIGBUS SIGCHLD SIGCLD SIGCONT SIGFPE SIGHUP SIGILL SIGINT SIGIO SIGIOT" +
		" SIGKILL SIGPIPE SIGPOLL SIGPROF SIGPWR SIGQUIT SIGSEGV SIGSTKFLT SIGSTOP SIGSYS SIGTERM SIGTRAP" +
		" SIGTSTP SIGTTIN SIGTTOU SIGURG SIGUSR1 SIGUSR2 SIGVTALRM SIGWINCH SIGXCPU SIGXFSZ "
	if !realTime.MatchString(string(signal)) && (signal == "" || !strings.Contains(signals, " "+string(signal)+" ")) {
		c.bad(at, string(signal), "must be a signal such as SIGTERM or SIGRTMIN+3")
	}
	if c.pod.Spec.OS == nil {
		c.refused(at, "may only be set when spec.os.name is set")
	}
}
