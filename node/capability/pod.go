package capability

import corev1 "k8s.io/api/core/v1"

const (
	noScheduler  = "a node alone does not schedule"
	noMatch      = "the pod fails with reason NodeAffinity where the node's labels do not match"
	noEviction   = "the pod fails with reason TaintToleration where it does not tolerate the NoExecute taints of a node alone; in a cluster they are the cluster's business. One that bears node.kubernetes.io/memory-pressure is taken while memory alone runs short"
	noAccounts   = "there are no service accounts here"
	byTheNode    = "written by the node"
	noAllocation = "a node alone allocates no devices of claims; pods of a cluster bring theirs"
)

func metadataRules() []rule {
	return []rule{
		honoured("apiVersion", "v1"),
		honoured("kind", "Pod"),
		without("status", byTheNode).silently(),
		honoured("metadata.name", "static pods get the node's name appended"),
		honoured("metadata.namespace", ""),
		honoured("metadata.uid", "assigned by the node if empty; must be usable as the name of a directory"),
		honoured("metadata.labels", ""),
		honoured("metadata.annotations", ""),
		without("metadata.generateName", "the node uses metadata.name only"),
		honoured("metadata.ownerReferences", "a pod goes with the workload of this node that owns it; other owners are not followed"),
		without("metadata.finalizers", "the node removes a pod without waiting for them"),
		without("metadata.managedFields", "kept for clients of the Kubernetes API that apply").silently(),
		without("metadata.selfLink", byTheNode).silently(),
		without("metadata.resourceVersion", byTheNode).silently(),
		without("metadata.generation", byTheNode).silently(),
		without("metadata.creationTimestamp", byTheNode).silently(),
		without("metadata.deletionTimestamp", byTheNode).silently(),
		without("metadata.deletionGracePeriodSeconds", byTheNode).silently(),
	}
}

func podRules() []rule {
	return []rule{
		honoured("spec.restartPolicy", ""),
		honoured("spec.terminationGracePeriodSeconds", ""),
		honoured("spec.dnsPolicy", ""),
		honoured("spec.dnsConfig", ""),
		honoured("spec.hostNetwork", ""),
		honoured("spec.hostPID", ""),
		honoured("spec.hostIPC", ""),
		honoured("spec.shareProcessNamespace", ""),
		honoured("spec.hostname", ""),
		honoured("spec.hostnameOverride", ""),
		honoured("spec.subdomain", "the pod resolves its own full name; others need the cluster's DNS"),
		honoured("spec.setHostnameAsFQDN", ""),
		honoured("spec.hostAliases", ""),
		honoured("spec.imagePullSecrets", "secrets of type kubernetes.io/dockerconfigjson or kubernetes.io/dockercfg"),
		honoured("spec.readinessGates", "a client sets the conditions by SetPodCondition"),
		honoured("spec.os.name", "a pod for another system than linux fails with PodOSNotSupported"),

		honoured("spec.activeDeadlineSeconds", "counted from the pod's start time; it may change while the pod runs"),
		honoured("spec.hostUsers", "false needs support by the runtime (containerd 2.0) and idmapped mounts; without them the pod waits with an event"),
		honoured("spec.overhead", "added to the pod's requests and limits"),
		refuses("spec.resourceClaims", noAllocation).unlessBrought(),
		honoured("spec.runtimeClassName", "names a posted RuntimeClass; its handler and overhead are read when the pod is accepted"),

		without("spec.affinity", noScheduler).unless(corev1.Affinity{}),
		honoured("spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution", noMatch),
		without("spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution", noScheduler),
		without("spec.affinity.podAffinity", noScheduler),
		without("spec.affinity.podAntiAffinity", noScheduler),
		without("spec.nodeName", "replaced by this node's name").silently(),
		honoured("spec.nodeSelector", noMatch),
		without("spec.preemptionPolicy", noScheduler).unless(corev1.PreemptLowerPriority),
		without("spec.priority", "the only effect is that of a critical pod (2000000000 and above): it preempts others, is admitted under pressure, uses no swap, and ends last when the machine shuts down").unless(int32(0)),
		honoured("spec.priorityClassName", "names a posted PriorityClass, or one of the system's; its number is read when the pod is accepted, unless that is static or a cluster's, and ranks no pod: see spec.priority. A pod of system-node-critical is also killed last when memory runs out"),
		without("spec.schedulerName", noScheduler).unless(corev1.DefaultSchedulerName),
		without("spec.schedulingGates", noScheduler),
		without("spec.schedulingGroup", noScheduler),
		honoured("spec.tolerations.key", noEviction),
		honoured("spec.tolerations.operator", noEviction),
		honoured("spec.tolerations.value", noEviction),
		honoured("spec.tolerations.effect", noEviction),
		without("spec.tolerations.tolerationSeconds", "an accepted pod stays, whatever the taints"),
		without("spec.topologySpreadConstraints", noScheduler),
		without("spec.evictionResponders", "the node evicts a pod without waiting for them"),
		without("spec.automountServiceAccountToken", noAccounts).unless(false),
		without("spec.serviceAccount", noAccounts).silently(), // serviceAccountName speaks for both
		without("spec.serviceAccountName", noAccounts).unless("default"),
		honoured("spec.enableServiceLinks", "variables for the Services that are in the pod's namespace when the container starts"),
	}
}

func podSecurityRules() []rule {
	const at = "spec.securityContext."
	return []rule{
		honoured(at+"runAsUser", ""),
		honoured(at+"runAsGroup", ""),
		honoured(at+"runAsNonRoot", ""),
		honoured(at+"supplementalGroups", ""),
		honoured(at+"supplementalGroupsPolicy", "Strict needs support by the runtime (containerd 2.0); without it the pod fails"),
		honoured(at+"seLinuxOptions", ""),
		honoured(at+"seccompProfile", ""),
		honoured(at+"appArmorProfile", ""),
		honoured(at+"sysctls", ""),
		honoured(at+"fsGroup", "hostPath volumes keep their owners"),
		honoured(at+"fsGroupChangePolicy", "for local persistent volumes; other volumes are new for each pod"),
		without(at+"seLinuxChangePolicy", "the node sets no SELinux labels on volumes"),
		refuses(at+"windowsOptions", "the node runs Linux only"),
	}
}
