package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	nodev1 "nodal/api/gen/node/v1"

	"nodal/test/agent"
	"nodal/test/claim"
)

// identity is a pod whose two containers print their identities.
const identity = `apiVersion: v1
kind: Pod
metadata:
  name: who
  labels: {app: shop}
  annotations: {note: "two words"}
spec:
  terminationGracePeriodSeconds: 1
  hostname: given
  subdomain: sub
  setHostnameAsFQDN: true
  serviceAccountName: robot
  shareProcessNamespace: true
  hostAliases:
  - {ip: 192.0.2.7, hostnames: [alias, alias.example]}
  dnsPolicy: None
  dnsConfig:
    nameservers: [192.0.2.53, 192.0.2.54]
    searches: [one.example, two.example]
    options: [{name: ndots, value: "3"}, {name: rotate}]
  containers:
  - name: main
    image: nodal.test/busybox:1
    command: [sh, -c, "exec sleep $(SECONDS_TO_SLEEP)"]
    resources: {limits: {cpu: 250m, memory: 64Mi}, requests: {cpu: 100m}}
    env:
    - {name: SECONDS_TO_SLEEP, value: "1000"}
    - {name: NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
    - {name: NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
    - {name: UID, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}
    - {name: LABEL, valueFrom: {fieldRef: {fieldPath: "metadata.labels['app']"}}}
    - {name: NOTE, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['note']"}}}
    - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
    - {name: ACCOUNT, valueFrom: {fieldRef: {fieldPath: spec.serviceAccountName}}}
    - {name: HOST_IP, valueFrom: {fieldRef: {fieldPath: status.hostIP}}}
    - {name: HOST_IPS, valueFrom: {fieldRef: {fieldPath: status.hostIPs}}}
    - {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
    - {name: POD_IPS, valueFrom: {fieldRef: {fieldPath: status.podIPs}}}
    - {name: CPU_LIMIT, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1m}}}
    - {name: CPU_ROUNDED, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}
    - {name: CPU_REQUEST, valueFrom: {resourceFieldRef: {resource: requests.cpu, divisor: 1m}}}
    - {name: MEMORY_LIMIT, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}
    - {name: OTHERS_LIMIT, valueFrom: {resourceFieldRef: {containerName: other, resource: limits.cpu}}}
    - {name: OTHERS_REQUEST, valueFrom: {resourceFieldRef: {containerName: other, resource: requests.memory}}}
    - {name: EXPANDED, value: "$(NAME)-$(LABEL)"}
    - {name: ESCAPED, value: "$$(NAME) $$"}
    - {name: UNKNOWN, value: "$(NOBODY)"}
  - name: other
    image: nodal.test/busybox:1
    command: [sh, -c, "exec sleep 1000"]
`

// inside runs a script in a container; it must succeed.
func (n *node) inside(pod, container, script string) string {
	n.t.Helper()
	got := n.exec(&nodev1.ExecStart{Namespace: "default", Name: pod, Container: container, Command: []string{"sh", "-c", script}}, "")
	if got.code != 0 {
		n.t.Fatalf("in container %s of pod %s: %+v", container, pod, got)
	}
	return got.stdout
}

// environ returns the environment of a container's process.
func (n *node) environ(pod, container string) map[string]string {
	n.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", n.pidOf(pod, container)))
	if err != nil {
		n.t.Fatal(err)
	}
	env := map[string]string{}
	for variable := range strings.SplitSeq(strings.TrimRight(string(text), "\x00"), "\x00") {
		name, value, _ := strings.Cut(variable, "=")
		env[name] = value
	}
	return env
}

// pidOf returns the process of a pod's running container.
func (n *node) pidOf(pod, name string) int {
	n.t.Helper()
	for _, c := range n.containers(pod) {
		if c.name == name && c.running {
			pid := n.pid(c.id)
			n.eventually("the program of "+name+" in the place of runc's", func() bool { return !isRunc(n.t, pid) })
			return pid
		}
	}
	n.t.Fatalf("no container %s of pod %s runs", name, pod)
	return 0
}

// isRunc reports whether a process has yet to become the container's program. A start returns
// before runc has dropped its privileges, and the kernel knows the program's name before its
// arguments.
func isRunc(t *testing.T, pid int) bool {
	t.Helper()
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		t.Fatal(err)
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		t.Fatal(err)
	}
	return strings.HasPrefix(string(name), "runc:") || len(line) == 0
}

// TestCommandAndArguments runs an image whose own command is "/probe pause".
func TestCommandAndArguments(t *testing.T) {
	claim.Shows(t, "Identity and environment",
		"a container without command and args runs the image's own",
		"args replace the image's arguments only",
		"a command replaces the image's program and its arguments",
		"command and args together replace both of the image's",
	)
	n := start(t)
	n.apply("apiVersion: v1\nkind: Pod\nmetadata: {name: ways}\nspec:\n  terminationGracePeriodSeconds: 1\n  containers:\n" +
		"  - {name: image, image: nodal.test/probe:1}\n" +
		"  - {name: args, image: nodal.test/probe:1, args: [pause, given]}\n" +
		"  - {name: command, image: nodal.test/probe:1, command: [/probe, pause, alone]}\n" +
		"  - {name: both, image: nodal.test/probe:1, command: [/probe], args: [pause, both]}\n")
	n.waitRunning("ways")
	for name, want := range map[string]string{
		"image": "/probe pause", "args": "/probe pause given", "command": "/probe pause alone", "both": "/probe pause both",
	} {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", n.pidOf("ways", name)))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Split(strings.TrimRight(string(line), "\x00"), "\x00"), " "); got != want {
			t.Errorf("container %s runs %q, want %q", name, got, want)
		}
	}
}

func TestContainersKnowTheirIdentity(t *testing.T) {
	claim.Shows(t, "Identity and environment",
		"hostname, subdomain and setHostnameAsFQDN give a pod its name",
		"hostAliases stand in /etc/hosts, which all containers of the pod share",
		"dnsPolicy None with dnsConfig makes resolv.conf",
		"environment variables are expanded in values, commands and arguments, and escaped by $$",
		"the downward API gives name, namespace, UID, labels, annotations, node, account and addresses in the environment",
		"resourceFieldRef gives limits and requests with divisors, also of other containers, and the node's amount without a limit",
		"shareProcessNamespace lets containers see each other's processes",
	)
	n := start(t)
	n.apply(identity)
	p := n.waitRunning("who")
	t.Run("by name", func(t *testing.T) {
		if got, want := n.inside("who", "main", "hostname"), "given.sub.default.svc\n"; got != want {
			t.Errorf("the host name is %q, want %q", got, want)
		}
	})
	t.Run("in /etc/hosts, which both containers share", func(t *testing.T) {
		got := n.inside("who", "main", "cat /etc/hosts")
		for _, want := range []string{
			"# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n",
			p.Status.PodIP + "\tgiven.sub.default.svc\tgiven\n",
			"# Entries added by HostAliases.\n192.0.2.7\talias\talias.example\n",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("/etc/hosts is %q, want %q in it", got, want)
			}
		}
		if other := n.inside("who", "other", "cat /etc/hosts"); other != got {
			t.Errorf("the other container has %q, want the same", other)
		}
	})
	t.Run("in resolv.conf", func(t *testing.T) {
		want := "search one.example two.example\nnameserver 192.0.2.53\nnameserver 192.0.2.54\noptions ndots:3 rotate\n"
		if got := n.inside("who", "main", "cat /etc/resolv.conf"); got != want {
			t.Errorf("resolv.conf is %q, want %q", got, want)
		}
	})
	t.Run("in the environment", func(t *testing.T) { checkEnvironment(t, n.environ("who", "main"), p) })
	t.Run("among the processes of the pod", func(t *testing.T) {
		if got := n.inside("who", "other", "cat /proc/[0-9]*/comm"); !strings.Contains(got, "pause") && !strings.Contains(got, "probe") || strings.Count(got, "sleep") != 2 {
			t.Errorf("the processes are %q, want the sandbox's and both containers'", got)
		}
	})
	n.curl("/v1/namespaces/default/pods/who", "-X", "DELETE")
	n.waitGone("who")
	if _, err := os.Stat(n.Root() + "/pods/" + string(p.UID)); !os.IsNotExist(err) {
		t.Errorf("the pod's files: %v, want them gone with it", err)
	}
}

func checkEnvironment(t *testing.T, got map[string]string, p *corev1.Pod) {
	for name, want := range map[string]string{
		"SECONDS_TO_SLEEP": "1000", "NAME": "who", "NAMESPACE": "default", "UID": string(p.UID), "LABEL": "shop", "NOTE": "two words",
		"NODE": "node-a", "ACCOUNT": "robot", "HOST_IP": p.Status.HostIP, "POD_IP": p.Status.PodIP, "POD_IPS": p.Status.PodIP,
		"CPU_LIMIT": "250", "CPU_ROUNDED": "1", "CPU_REQUEST": "100", "MEMORY_LIMIT": "64", "OTHERS_REQUEST": "0",
		"EXPANDED": "who-shop", "ESCAPED": "$(NAME) $", "UNKNOWN": "$(NOBODY)",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	if got["OTHERS_LIMIT"] == "0" || got["OTHERS_LIMIT"] == "" {
		t.Errorf("without a limit there are %q CPUs, want those of the node", got["OTHERS_LIMIT"])
	}
	if !strings.HasPrefix(got["HOST_IPS"], p.Status.HostIP) {
		t.Errorf("the host's addresses are %q, want %s first", got["HOST_IPS"], p.Status.HostIP)
	}
}

const guest = `apiVersion: v1
kind: Pod
metadata:
  name: guest
spec:
  terminationGracePeriodSeconds: 1
  hostNetwork: true
  hostPID: true
  hostIPC: true
  dnsPolicy: ClusterFirstWithHostNet
  hostAliases:
  - {ip: 192.0.2.7, hostnames: [alias]}
  containers:
  - name: main
    image: nodal.test/busybox:1
    command: [sh, -c, "exec sleep 1000"]
`

func TestPodInTheHostsNamespaces(t *testing.T) {
	claim.Shows(t, "Identity and environment",
		"hostNetwork, hostPID and hostIPC use the namespaces of the host",
		"a pod in the host's network has the host's address and hosts file with its aliases",
		"ClusterFirstWithHostNet without a cluster DNS falls back to the host's, with an event",
	)
	n := start(t)
	n.apply(guest)
	p := n.waitRunning("guest")
	pid := n.pidOf("guest", "main")
	for _, kind := range []string{"net", "pid", "ipc"} {
		own, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, kind)); got != own {
			t.Errorf("the %s namespace is %s, %v, want the host's, %s", kind, got, err, own)
		}
	}
	host, err := os.ReadFile("/etc/hosts")
	if err != nil {
		t.Fatal(err)
	}
	want := "# Kubernetes-managed hosts file (host network).\n" + string(host) + "\n# Entries added by HostAliases.\n192.0.2.7\talias\n"
	if got := n.inside("guest", "main", "cat /etc/hosts"); got != want {
		t.Errorf("/etc/hosts is %q, want %q", got, want)
	}
	if p.Status.PodIP != p.Status.HostIP {
		t.Errorf("the pod's address is %q, want the host's, %q", p.Status.PodIP, p.Status.HostIP)
	}
	if got := n.curl("/v1/events?namespace=default&name=guest"); !strings.Contains(got.body, "MissingClusterDNS") {
		t.Errorf("the events are %s, want one that says that there is no cluster DNS", got)
	}
}

func TestNamesAndResolversThatTheNodeDecides(t *testing.T) {
	claim.Shows(t, "Identity and environment",
		"ClusterFirst uses the cluster's DNS with its domains before the host's; Default resolves like the host",
		"a hostnameOverride is the host name; a pod name that is too long for one is cut; an FQDN that is too long keeps the pod from running",
		"a container that mounts its own /etc/hosts keeps it",
	)
	n := prepare(t, func(c *agent.Config) {
		c.Settings["clusterDNS"], c.Settings["clusterDomain"] = []string{"192.0.2.10"}, "cluster.test"
		c.Settings["resolvConf"] = filepath.Join(c.Dir, "resolv.conf")
	})
	n.file("node/resolv.conf", "nameserver 192.0.2.53\nsearch host.example\noptions rotate\n")
	n.up()
	n.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hosts}\ndata: {hosts: mine}\n")
	spec := func(name, lines string) string {
		return strings.Replace(shell(name, "exec sleep 1000").yaml(), "spec:\n", "spec:\n"+lines, 1)
	}
	events := n.follow("/v1/events:watch")
	long := strings.Repeat("n", 62) + "-more"
	n.apply(spec("cluster", "") + "---\n" + spec("default", "  dnsPolicy: Default\n") + "---\n" +
		spec("override", "  hostnameOverride: other.example\n") + "---\n" + spec(long, "") + "---\n" +
		spec("full", "  setHostnameAsFQDN: true\n  hostname: "+strings.Repeat("h", 40)+"\n  subdomain: sub\n") + "---\n" +
		spec("hosts", "  volumes: [{name: v, configMap: {name: hosts}}]\n") + "    volumeMounts: [{name: v, mountPath: /etc/hosts, subPath: hosts}]\n")
	for _, c := range []struct{ pod, script, want string }{
		{"cluster", "cat /etc/resolv.conf", "search default.svc.cluster.test svc.cluster.test cluster.test host.example\nnameserver 192.0.2.10\noptions ndots:5\n"},
		{"default", "cat /etc/resolv.conf", "search host.example\nnameserver 192.0.2.53\noptions rotate\n"},
		{"override", "hostname", "other.example\n"},
		{long, "hostname", strings.Repeat("n", 62) + "\n"},
		{"hosts", "cat /etc/hosts", "mine"},
	} {
		n.waitRunning(c.pod)
		if got := n.inside(c.pod, "main", c.script); got != c.want {
			t.Errorf("in pod %s, %s says %q, want %q", c.pod, c.script, got, c.want)
		}
	}
	n.wait("full", "it says why it does not run", func(p *corev1.Pod) bool {
		return p.Status.Phase == corev1.PodPending && strings.Contains(p.Status.Message, "is too long (64 characters is the max")
	})
	for range 2 { // it is tried again
		if told := events.until(`"FailedCreatePodSandBox"`); !strings.Contains(told, "is too long (64 characters is the max") {
			t.Errorf("the event is %s", told)
		}
	}
}
