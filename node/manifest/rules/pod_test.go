package rules_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
	"nodal/node/manifest"
	"nodal/node/manifest/rules"
)

func decodeOne(t testing.TB, text string) *corev1.Pod {
	t.Helper()
	docs, err := manifest.Decode([]byte(text), manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return docs[0].Pod
}

// violations are those of one document.
func violations(t *testing.T, text string) []node.Violation {
	t.Helper()
	_, err := manifest.Decode([]byte(text), manifest.Options{})
	var invalid *node.InvalidError
	if !errors.As(err, &invalid) {
		t.Fatalf("got error %v, want violations", err)
	}
	return invalid.Violations
}

// patch is YAML laid over the pod web: lines of the spec, of its first container
// or of the metadata.
type patch struct{ meta, spec, container string }

func (p patch) apply() string {
	indent := func(text, by string) string {
		if text == "" {
			return ""
		}
		return by + strings.ReplaceAll(text, "\n", "\n"+by) + "\n"
	}
	return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n" + indent(p.meta, "  ") +
		"spec:\n" + indent(p.spec, "  ") +
		"  containers:\n  - name: app\n    image: a:1\n" + indent(p.container, "    ")
}

func TestPodRefuses(t *testing.T) {
	const long = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	const volume = "volumes: [{name: v, emptyDir: {}}]"
	const app = "spec.containers[0]."
	const trusted = "spec.volumes[0].projected.sources[0].clusterTrustBundle"
	trusting := func(source string) string {
		return "volumes: [{name: v, projected: {sources: [{clusterTrustBundle: {path: ca.pem, " + source + "}}]}}]"
	}
	tests := map[string]struct {
		patch
		at, rule string
	}{
		// metadata
		"a label key with two slashes": {patch{meta: "labels: {a/b/c: d}"}, "metadata.labels", "valid label key"},
		"a label value with a space":   {patch{meta: "labels: {a: b c}"}, "metadata.labels", "valid label"},
		"annotations without bound":    {patch{meta: "annotations: {a: " + strings.Repeat("x", 256<<10) + "}"}, "metadata.annotations", "may not be more than"},
		"a namespace with a dot":       {patch{meta: "namespace: a.b"}, "metadata.namespace", "must not contain dots"},
		"a mirror pod's annotation":    {patch{meta: "annotations: {kubernetes.io/config.mirror: x}"}, "metadata.annotations[kubernetes.io/config.mirror]", "written by the node"},
		"a profile of no container":    {patch{meta: "annotations: {container.apparmor.security.beta.kubernetes.io/x: unconfined}"}, "metadata.annotations[container.apparmor.security.beta.kubernetes.io/x]", "must name a container"},
		"a UID that leads elsewhere":   {patch{meta: "uid: ../../etc"}, "metadata.uid", "letters, digits"},
		"a UID that hides":             {patch{meta: "uid: .gone-x"}, "metadata.uid", "begin with"},
		"an owner without a UID":       {patch{meta: "ownerReferences: [{apiVersion: v1, kind: A, name: a}]"}, "metadata.ownerReferences[0].uid", "must not be empty"},
		"a finalizer that is no name":  {patch{meta: "finalizers: [a b]"}, "metadata.finalizers", "name part must consist"},
		// lifetime
		"an unknown restart policy": {patch{spec: "restartPolicy: Sometimes"}, "spec.restartPolicy", "supported values"},
		"a deadline of nothing":     {patch{spec: "activeDeadlineSeconds: 0"}, "spec.activeDeadlineSeconds", "between 1 and 2147483647"},
		"a bad service account":     {patch{spec: "serviceAccountName: A"}, "spec.serviceAccountName", "lowercase"},
		"a bad runtime class":       {patch{spec: "runtimeClassName: A_B"}, "spec.runtimeClassName", "lowercase"},
		"a bad readiness gate":      {patch{spec: "readinessGates: [{conditionType: a b}]"}, "spec.readinessGates[0].conditionType", "name part must consist"},
		// containers
		"a container name with a dot":  {patch{container: "name2: x"}, app + "name2", "unknown field"},
		"two containers of one name":   {patch{container: "command: [x]\nargs: []", spec: "initContainers: [{name: app, image: a}]"}, "spec.initContainers[0].name", "Duplicate"},
		"a container name too long":    {patch{spec: "initContainers: [{name: " + long + ", image: a}]"}, "spec.initContainers[0].name", "no more than 63"},
		"an image with a blank":        {patch{spec: "initContainers: [{name: a, image: ' a'}]"}, "spec.initContainers[0].image", "whitespace"},
		"an unknown pull policy":       {patch{container: "imagePullPolicy: Maybe"}, app + "imagePullPolicy", "supported values"},
		"an unknown message policy":    {patch{container: "terminationMessagePolicy: Shout"}, app + "terminationMessagePolicy", "supported values"},
		"an ephemeral one of the name": {patch{spec: "ephemeralContainers: [{name: app, image: a}]"}, "spec.ephemeralContainers[0].name", "Duplicate"},
		"an ephemeral one's port":      {patch{spec: "ephemeralContainers: [{name: e, image: a, ports: [{containerPort: 80}]}]"}, "spec.ephemeralContainers[0].ports", "for ephemeral containers"},
		"an ephemeral one's resources": {patch{spec: "ephemeralContainers: [{name: e, image: a, resources: {limits: {cpu: 1}}}]"}, "spec.ephemeralContainers[0].resources", "for ephemeral containers"},
		"an ephemeral one's probe":     {patch{spec: "ephemeralContainers: [{name: e, image: a, livenessProbe: {exec: {command: [x]}}}]"}, "spec.ephemeralContainers[0].livenessProbe", "for ephemeral containers"},
		"an ephemeral one's hook":      {patch{spec: "ephemeralContainers: [{name: e, image: a, lifecycle: {}}]"}, "spec.ephemeralContainers[0].lifecycle", "for ephemeral containers"},
		"an ephemeral one's policy":    {patch{spec: "ephemeralContainers: [{name: e, image: a, restartPolicy: Always}]"}, "spec.ephemeralContainers[0].restartPolicy", "for ephemeral containers"},
		"an ephemeral one's sub path":  {patch{spec: volume + "\nephemeralContainers: [{name: e, image: a, volumeMounts: [{name: v, mountPath: /v, subPath: a}]}]"}, "spec.ephemeralContainers[0].volumeMounts[0].subPath", "for ephemeral containers"},
		"an ephemeral one's target":    {patch{spec: "ephemeralContainers: [{name: e, image: a, targetContainerName: other}]"}, "spec.ephemeralContainers[0].targetContainerName", "Not found"},
		"a probe on an init container": {patch{spec: "initContainers: [{name: i, image: a, livenessProbe: {exec: {command: [x]}}}]"}, "spec.initContainers[0].livenessProbe", "without restartPolicy Always"},
		"a hook on an init container":  {patch{spec: "initContainers: [{name: i, image: a, lifecycle: {}}]"}, "spec.initContainers[0].lifecycle", "without restartPolicy Always"},
		"restart rules and no policy":  {patch{container: "restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [1]}}]"}, app + "restartPolicy", "with restartPolicyRules"},
		"a resize that must restart":   {patch{spec: "restartPolicy: Never", container: "resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}]"}, app + "resizePolicy[0].restartPolicy", "NotRequired"},
		"a resize policy for disks":    {patch{container: "resizePolicy: [{resourceName: disk, restartPolicy: NotRequired}]"}, app + "resizePolicy[0].resourceName", "supported values"},
		// ports
		"a port name in capitals":       {patch{container: "ports: [{name: HTTP, containerPort: 80}]"}, app + "ports[0].name", "at least one letter (a-z)"},
		"two ports of one name":         {patch{container: "ports: [{name: a, containerPort: 80}, {name: a, containerPort: 81}]"}, app + "ports[1].name", "Duplicate"},
		"a port of zero":                {patch{container: "ports: [{containerPort: 0}]"}, app + "ports[0].containerPort", "Required"},
		"a port beyond 65535":           {patch{container: "ports: [{containerPort: 65536}]"}, app + "ports[0].containerPort", "between 1 and 65535"},
		"two equal host ports":          {patch{container: "ports: [{containerPort: 80, hostPort: 8080}, {containerPort: 81, hostPort: 8080}]"}, app + "ports[1].hostPort", "Duplicate"},
		"another host port on the host": {patch{spec: "hostNetwork: true", container: "ports: [{containerPort: 80, hostPort: 81}]"}, app + "ports[0].hostPort", "match containerPort"},
		"an unknown protocol":           {patch{container: "ports: [{containerPort: 80, protocol: ICMP}]"}, app + "ports[0].protocol", "supported values"},
		// environment
		"a variable without a name":    {patch{container: "env: [{value: a}]"}, app + "env[0].name", "Required"},
		"a value that was not shown":   {patch{container: "env: [{name: a, value: '" + rules.Hidden + "'}]"}, app + "env[0].value", "was not shown"},
		"a variable with an equals":    {patch{container: "env: [{name: a=b}]"}, app + "env[0].name", "environment variable name"},
		"a value and a source":         {patch{container: "env: [{name: a, value: b, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]"}, app + "env[0].valueFrom", "when value is not empty"},
		"a source of nothing":          {patch{container: "env: [{name: a, valueFrom: {}}]"}, app + "env[0].valueFrom", "must specify one of"},
		"two sources":                  {patch{container: "env: [{name: a, valueFrom: {fieldRef: {fieldPath: metadata.name}, resourceFieldRef: {resource: limits.cpu}}}]"}, app + "env[0].valueFrom", "only one"},
		"a field that is not offered":  {patch{container: "env: [{name: a, valueFrom: {fieldRef: {fieldPath: spec.restartPolicy}}}]"}, app + "env[0].valueFrom.fieldRef.fieldPath", "supported values"},
		"all labels in a variable":     {patch{container: "env: [{name: a, valueFrom: {fieldRef: {fieldPath: metadata.labels}}}]"}, app + "env[0].valueFrom.fieldRef.fieldPath", "supported values"},
		"a subscript of a name":        {patch{container: "env: [{name: a, valueFrom: {fieldRef: {fieldPath: \"metadata.name['a']\"}}}]"}, app + "env[0].valueFrom.fieldRef.fieldPath", "subscript"},
		"a resource that is not known": {patch{container: "env: [{name: a, valueFrom: {resourceFieldRef: {resource: limits.disk}}}]"}, app + "env[0].valueFrom.resourceFieldRef.resource", "must name cpu"},
		"a divisor of two":             {patch{container: "env: [{name: a, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 2}}}]"}, app + "env[0].valueFrom.resourceFieldRef.divisor", "must be one of 1, 1m"},
		"a key reference without key":  {patch{container: "env: [{name: a, valueFrom: {secretKeyRef: {name: s}}}]"}, app + "env[0].valueFrom.secretKeyRef.key", "Required"},
		"a file of an unknown volume":  {patch{container: "env: [{name: a, valueFrom: {fileKeyRef: {volumeName: x, path: p, key: K}}}]"}, app + "env[0].valueFrom.fileKeyRef.volumeName", "Not found"},
		"envFrom of nothing":           {patch{container: "envFrom: [{prefix: a}]"}, app + "envFrom[0]", "must specify one of"},
		// volumes and mounts
		"two volumes of one name":       {patch{spec: "volumes: [{name: v}, {name: v}]"}, "spec.volumes[1].name", "Duplicate"},
		"two sources of one volume":     {patch{spec: "volumes: [{name: v, emptyDir: {}, hostPath: {path: /a}}]"}, "spec.volumes[0]", "only one"},
		"a host path with backsteps":    {patch{spec: "volumes: [{name: v, hostPath: {path: /a/../b}}]"}, "spec.volumes[0].hostPath.path", "'..'"},
		"an unknown host path type":     {patch{spec: "volumes: [{name: v, hostPath: {path: /a, type: Tape}}]"}, "spec.volumes[0].hostPath.type", "supported values"},
		"a mode beyond 0777":            {patch{spec: "volumes: [{name: v, secret: {secretName: s, defaultMode: 01000}}]"}, "spec.volumes[0].secret.defaultMode", "0777"},
		"a secret without a name":       {patch{spec: "volumes: [{name: v, secret: {}}]"}, "spec.volumes[0].secret.secretName", "Required"},
		"an item that leaves":           {patch{spec: "volumes: [{name: v, configMap: {name: c, items: [{key: a, path: ../a}]}}]"}, "spec.volumes[0].configMap.items[0].path", "must not contain '..'"},
		"a projection of one path":      {patch{spec: "volumes: [{name: v, projected: {sources: [{secret: {name: s, items: [{key: a, path: a}]}}, {configMap: {name: c, items: [{key: a, path: a}]}}]}}]"}, "spec.volumes[0].projected.sources[1].configMap.items[0].path", "Duplicate"},
		"a token without an account":    {patch{spec: "volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: t}}]}}]"}, "spec.volumes[0].projected.sources[0].serviceAccountToken", "serviceAccountName is not set"},
		"a token for a minute":          {patch{spec: "serviceAccountName: a\nvolumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: t, expirationSeconds: 60}}]}}]"}, "spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds", "between 600"},
		"bundles by name and labels":    {patch{spec: trusting("name: root, labelSelector: {}")}, trusted + ".labelSelector", "only be set with signerName"},
		"a bundle under no signer":      {patch{spec: trusting("name: 'example.com:ca:B'")}, trusted + ".name", "subdomain"},
		"a signer without a path":       {patch{spec: trusting("signerName: example.com")}, trusted + ".signerName", "a domain and a path"},
		"a label selector of no sense":  {patch{spec: trusting("signerName: example.com/ca, labelSelector: {matchExpressions: [{key: a, operator: Is}]}")}, trusted + ".labelSelector.matchExpressions[0].operator", "not a valid"},
		"a negative size limit":         {patch{spec: "volumes: [{name: v, emptyDir: {sizeLimit: -1}}]"}, "spec.volumes[0].emptyDir.sizeLimit", "greater than or equal"},
		"a relative NFS path":           {patch{spec: "volumes: [{name: v, nfs: {server: s, path: a}}]"}, "spec.volumes[0].nfs.path", "absolute"},
		"a mount of no volume":          {patch{container: "volumeMounts: [{name: x, mountPath: /a}]"}, app + "volumeMounts[0].name", "Not found"},
		"a mount without a path":        {patch{spec: volume, container: "volumeMounts: [{name: v}]"}, app + "volumeMounts[0].mountPath", "Required"},
		"two mounts at one path":        {patch{spec: volume, container: "volumeMounts: [{name: v, mountPath: /a}, {name: v, mountPath: /a}]"}, app + "volumeMounts[1].mountPath", "must be unique"},
		"an absolute sub path":          {patch{spec: volume, container: "volumeMounts: [{name: v, mountPath: /a, subPath: /b}]"}, app + "volumeMounts[0].subPath", "relative"},
		"a sub path twice over":         {patch{spec: volume, container: "volumeMounts: [{name: v, mountPath: /a, subPath: b, subPathExpr: c}]"}, app + "volumeMounts[0].subPathExpr", "with subPath"},
		"propagation without privilege": {patch{spec: volume, container: "volumeMounts: [{name: v, mountPath: /a, mountPropagation: Bidirectional}]"}, app + "volumeMounts[0].mountPropagation", "privileged"},
		"recursive but writable":        {patch{spec: volume, container: "volumeMounts: [{name: v, mountPath: /a, recursiveReadOnly: Enabled}]"}, app + "volumeMounts[0].recursiveReadOnly", "readOnly is true"},
		"a device of a directory":       {patch{spec: volume, container: "volumeDevices: [{name: v, devicePath: /dev/a}]"}, app + "volumeDevices[0].name", "persistentVolumeClaim"},
		// probes and hooks
		"a probe of nothing":            {patch{container: "livenessProbe: {}"}, app + "livenessProbe", "must specify one of"},
		"a probe of two kinds":          {patch{container: "livenessProbe: {exec: {command: [a]}, tcpSocket: {port: 1}}"}, app + "livenessProbe", "only one"},
		"a liveness that counts to two": {patch{container: "livenessProbe: {exec: {command: [a]}, successThreshold: 2}"}, app + "livenessProbe.successThreshold", "must be 1"},
		"a negative period":             {patch{container: "readinessProbe: {exec: {command: [a]}, periodSeconds: -1}"}, app + "readinessProbe.periodSeconds", "greater than or equal to 0"},
		"a probe that runs nothing":     {patch{container: "startupProbe: {exec: {}}"}, app + "startupProbe.exec.command", "Required"},
		"a probe of port zero":          {patch{container: "startupProbe: {tcpSocket: {port: 0}}"}, app + "startupProbe.tcpSocket.port", "between 1 and 65535"},
		"a probe of another protocol":   {patch{container: "livenessProbe: {httpGet: {port: 1, protocol: HTTP3}}"}, app + "livenessProbe.httpGet.protocol", "HTTP2"},
		"HTTP/2 over TLS by protocol":   {patch{container: "livenessProbe: {httpGet: {port: 1, scheme: HTTPS, protocol: HTTP2}}"}, app + "livenessProbe.httpGet.protocol", "unless scheme is HTTP"},
		"a gRPC probe without a port":   {patch{container: "livenessProbe: {grpc: {service: a}}"}, app + "livenessProbe.grpc.port", "between 1 and 65535"},
		"a probe that ends at once":     {patch{container: "livenessProbe: {exec: {command: [a]}, terminationGracePeriodSeconds: 0}"}, app + "livenessProbe.terminationGracePeriodSeconds", "greater than 0"},
		"a readiness that ends":         {patch{container: "readinessProbe: {exec: {command: [a]}, terminationGracePeriodSeconds: 1}"}, app + "readinessProbe.terminationGracePeriodSeconds", "may not be set"},
		"a header with a space":         {patch{container: "livenessProbe: {httpGet: {port: 1, httpHeaders: [{name: a b}]}}"}, app + "livenessProbe.httpGet.httpHeaders[0].name", "HTTP header"},
		"a sleep beyond the grace":      {patch{container: "lifecycle: {preStop: {sleep: {seconds: 31}}}"}, app + "lifecycle.preStop.sleep.seconds", "between 0 and"},
		"a sleep of less than nothing":  {patch{container: "lifecycle: {postStart: {sleep: {seconds: -1}}}"}, app + "lifecycle.postStart.sleep.seconds", "between 0 and"},
		"a hook of nothing":             {patch{container: "lifecycle: {postStart: {}}"}, app + "lifecycle.postStart", "must specify one of"},
		"a hook of two kinds":           {patch{container: "lifecycle: {preStop: {exec: {command: [a]}, sleep: {seconds: 1}}}"}, app + "lifecycle.preStop", "only one"},
		"a hook of port zero":           {patch{container: "lifecycle: {preStop: {httpGet: {port: 0}}}"}, app + "lifecycle.preStop.httpGet.port", "between 1 and 65535"},
		"a hook of no port name":        {patch{container: "lifecycle: {preStop: {httpGet: {port: a_b}}}"}, app + "lifecycle.preStop.httpGet.port", "contain only"},
		"a hook of another scheme":      {patch{container: "lifecycle: {preStop: {httpGet: {port: 1, scheme: FTP}}}"}, app + "lifecycle.preStop.httpGet.scheme", "HTTPS"},
		"a hook that runs nothing":      {patch{container: "lifecycle: {postStart: {exec: {}}}"}, app + "lifecycle.postStart.exec.command", "Required"},
		"a stop signal without system":  {patch{container: "lifecycle: {stopSignal: SIGTERM}"}, app + "lifecycle.stopSignal", "spec.os.name"},
		"a stop signal beyond the last": {patch{spec: "os: {name: linux}", container: "lifecycle: {stopSignal: SIGRTMIN+16}"}, app + "lifecycle.stopSignal", "SIGRTMIN+3"},
		"a stop signal that is none":    {patch{spec: "os: {name: linux}", container: "lifecycle: {stopSignal: TERM}"}, app + "lifecycle.stopSignal", "SIGTERM"},
		// resources
		"more requested than allowed": {patch{container: "resources: {requests: {cpu: 2}, limits: {cpu: 1}}"}, app + "resources.requests[cpu]", "less than or equal to the limit of 1"},
		"a negative request":          {patch{container: "resources: {requests: {memory: -1}}"}, app + "resources.requests[memory]", "greater than or equal to 0"},
		"an unknown resource":         {patch{container: "resources: {requests: {disk: 1}}"}, app + "resources.requests[disk]", "domain prefix"},
		"half a device":               {patch{container: "resources: {limits: {example.com/gpu: 500m}}"}, app + "resources.limits[example.com/gpu]", "integer"},
		"a device without a limit":    {patch{container: "resources: {requests: {example.com/gpu: 1}}"}, app + "resources.limits[example.com/gpu]", "cannot be overcommitted"},
		"huge pages alone":            {patch{container: "resources: {limits: {hugepages-2Mi: 2Mi}}"}, app + "resources", "HugePages require cpu or memory"},
		"half a huge page":            {patch{container: "resources: {limits: {cpu: 1, hugepages-2Mi: 3Mi}}"}, app + "resources.limits[hugepages-2Mi]", "multiple of the page size"},
		"a claim the pod has not":     {patch{container: "resources: {claims: [{name: gpu}]}"}, app + "resources.claims[0].name", "Not found"},
		"a pod below its containers":  {patch{spec: "resources: {requests: {cpu: 1}}", container: "resources: {requests: {cpu: 2}}"}, "spec.resources.requests[cpu]", "containers' requests of 2"},
		"a container above its pod":   {patch{spec: "resources: {limits: {cpu: 1}}", container: "resources: {requests: {cpu: 1}, limits: {cpu: 2}}"}, app + "resources.limits[cpu]", "pod's limit of 1"},
		"disk for a whole pod":        {patch{spec: "resources: {limits: {ephemeral-storage: 1}}"}, "spec.resources.limits[ephemeral-storage]", "for a whole pod"},
		// security
		"a user below zero":             {patch{spec: "securityContext: {runAsUser: -1}"}, "spec.securityContext.runAsUser", "between 0 and 2147483647"},
		"a group below zero":            {patch{spec: "securityContext: {supplementalGroups: [-1]}"}, "spec.securityContext.supplementalGroups[0]", "between 0 and 2147483647"},
		"Windows options":               {patch{spec: "os: {name: linux}\nsecurityContext: {windowsOptions: {}}"}, "spec.securityContext.windowsOptions", "Linux"},
		"a system that nobody knows":    {patch{spec: "os: {name: plan9}"}, "spec.os.name", "must be linux or windows"},
		"privileged and not escalating": {patch{container: "securityContext: {privileged: true, allowPrivilegeEscalation: false}"}, app + "securityContext.allowPrivilegeEscalation", "privileged container"},
		"admin and not escalating":      {patch{container: "securityContext: {capabilities: {add: [CAP_SYS_ADMIN]}, allowPrivilegeEscalation: false}"}, app + "securityContext.allowPrivilegeEscalation", "CAP_SYS_ADMIN"},
		"an unmasked proc on the host":  {patch{container: "securityContext: {procMount: Unmasked}"}, app + "securityContext.procMount", "hostUsers is false"},
		"a seccomp profile unnamed":     {patch{container: "securityContext: {seccompProfile: {type: Localhost}}"}, app + "securityContext.seccompProfile.localhostProfile", "must be set"},
		"a seccomp profile too many":    {patch{container: "securityContext: {seccompProfile: {type: Unconfined, localhostProfile: a}}"}, app + "securityContext.seccompProfile.localhostProfile", "only be set"},
		"a seccomp profile outside":     {patch{container: "securityContext: {seccompProfile: {type: Localhost, localhostProfile: ../a}}"}, app + "securityContext.seccompProfile.localhostProfile", "'..'"},
		"a padded AppArmor profile":     {patch{container: "securityContext: {appArmorProfile: {type: Localhost, localhostProfile: ' a'}}"}, app + "securityContext.appArmorProfile.localhostProfile", "padded"},
		"a sysctl twice":                {patch{spec: "securityContext: {sysctls: [{name: net.a, value: a}, {name: net.a, value: a}]}"}, "spec.securityContext.sysctls[1].name", "Duplicate"},
		"a sysctl in capitals":          {patch{spec: "securityContext: {sysctls: [{name: NET.a, value: a}]}"}, "spec.securityContext.sysctls[0].name", "lower-case"},
		"a network sysctl of the host":  {patch{spec: "hostNetwork: true\nsecurityContext: {sysctls: [{name: net.a, value: a}]}"}, "spec.securityContext.sysctls[0].name", "hostNetwork"},
		"users apart, processes not":    {patch{spec: "hostUsers: false\nhostPID: true"}, "spec.hostPID", "hostUsers is false"},
		"processes shared twice":        {patch{spec: "hostPID: true\nshareProcessNamespace: true"}, "spec.shareProcessNamespace", "hostPID"},
		// names and resolution
		"a host name with a dot":     {patch{spec: "hostname: a.b"}, "spec.hostname", "must not contain dots"},
		"an alias of no address":     {patch{spec: "hostAliases: [{ip: a}]"}, "spec.hostAliases[0].ip", "valid IP"},
		"no name server at all":      {patch{spec: "dnsPolicy: None"}, "spec.dnsConfig.nameservers", "at least one"},
		"four name servers":          {patch{spec: "dnsConfig: {nameservers: [1.1.1.1, 1.1.1.2, 1.1.1.3, 1.1.1.4]}"}, "spec.dnsConfig.nameservers", "more than 3"},
		"an unknown DNS policy":      {patch{spec: "dnsPolicy: Ask"}, "spec.dnsPolicy", "supported values"},
		"a search path with a space": {patch{spec: "dnsConfig: {searches: [a b]}"}, "spec.dnsConfig.searches[0]", "lowercase"},
		// scheduling
		"a toleration of any value":    {patch{spec: "tolerations: [{value: a}]"}, "spec.tolerations[0].operator", "must be Exists"},
		"seconds without NoExecute":    {patch{spec: "tolerations: [{key: a, operator: Exists, tolerationSeconds: 1}]"}, "spec.tolerations[0].effect", "NoExecute"},
		"a bad node selector":          {patch{spec: "nodeSelector: {a b: c}"}, "spec.nodeSelector", "name part must consist"},
		"gates on an assigned pod":     {patch{spec: "nodeName: node\nschedulingGates: [{name: a}]"}, "spec.nodeName", "schedulingGates"},
		"a skew of zero":               {patch{spec: "topologySpreadConstraints: [{maxSkew: 0, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]"}, "spec.topologySpreadConstraints[0].maxSkew", "greater than zero"},
		"an affinity without terms":    {patch{spec: "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}}"}, "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms", "at least one"},
		"a preemption that is unknown": {patch{spec: "preemptionPolicy: Maybe"}, "spec.preemptionPolicy", "supported values"},
		"a claim of nothing":           {patch{spec: "resourceClaims: [{name: a}]"}, "spec.resourceClaims[0]", "must specify one of"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := violations(t, test.apply())
			if !slices.ContainsFunc(got, func(v node.Violation) bool {
				return v.Object == "Pod "+namespaceOf(test.meta)+"/web" && v.Field == test.at && strings.Contains(v.Rule, test.rule)
			}) {
				t.Errorf("got %v, want one at %s: %s", got, test.at, test.rule)
			}
		})
	}
}

func namespaceOf(meta string) string {
	if namespace, ok := strings.CutPrefix(meta, "namespace: "); ok {
		return namespace
	}
	return "default"
}

func TestPodAcceptsThePatchedPodItself(t *testing.T) {
	if errs := rules.Pod(decodeOne(t, patch{}.apply())); len(errs) > 0 {
		t.Errorf("got %v, want none: the table above would prove nothing", errs)
	}
}

func TestAPodsNameFitsItsLogDirectory(t *testing.T) {
	pod := decodeOne(t, patch{}.apply())
	room := 255 - len(pod.Namespace+"__00000000-0000-0000-0000-000000000000")
	pod.Name = strings.Repeat("x", room)
	if errs := rules.Pod(pod); len(errs) > 0 {
		t.Errorf("a name of %d characters: %v", room, errs)
	}
	pod.Name += "x"
	if errs := rules.Pod(pod); len(errs) != 1 || errs[0].Field != "metadata.name" {
		t.Errorf("a name of %d characters: got %v, want it refused", room+1, errs)
	}
	pod.Name, pod.UID = pod.Name[2:], "a-uid-of-more-than-36-characters-0000"
	if errs := rules.Pod(pod); len(errs) > 0 {
		t.Errorf("a longer UID and a shorter name: %v", errs)
	}
}

func TestPodNeedsNoDefaults(t *testing.T) {
	pod := decodeOne(t, patch{}.apply())
	pod.Spec.TerminationGracePeriodSeconds, pod.Spec.SecurityContext, pod.Spec.RestartPolicy = nil, nil, ""
	pod.Spec.Containers[0].ImagePullPolicy = ""
	if errs := rules.Pod(pod); len(errs) != 3 {
		t.Errorf("got %d violations, want 3 for what is required: %v", len(errs), errs)
	}
}

func BenchmarkPod(b *testing.B) {
	data, err := os.ReadFile("../testdata/good/volumes.yaml")
	if err != nil {
		b.Fatal(err)
	}
	pod := decodeOne(b, string(data))
	for b.Loop() {
		if errs := rules.Pod(pod); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}
