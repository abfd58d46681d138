package capability

import "slices"

// containerRules answer for a container's fields, below the list that holds it.
func containerRules(list string) []rule {
	at := list + "."
	rules := append(commonRules(at),
		honoured(at+"name", ""),
		honoured(at+"ports", ""),
		honoured(at+"livenessProbe", ""),
		honoured(at+"readinessProbe", ""),
		honoured(at+"startupProbe", ""),
		honoured(at+"restartPolicy", "Always makes an init container a sidecar"),

		honoured(at+"lifecycle.postStart.exec", ""),
		honoured(at+"lifecycle.postStart.httpGet", "any answer is a success"),
		honoured(at+"lifecycle.postStart.sleep", ""),
		without(at+"lifecycle.postStart.tcpSocket", "Kubernetes has no such hook any more: it always fails, and the container with it"),
		honoured(at+"lifecycle.preStop.exec", ""),
		honoured(at+"lifecycle.preStop.httpGet", "any answer is a success"),
		honoured(at+"lifecycle.preStop.sleep", ""),
		without(at+"lifecycle.preStop.tcpSocket", "Kubernetes has no such hook any more: it always fails, and the container ends without it"),
		honoured(at+"lifecycle.stopSignal", "where the runtime can, as containerd from 2.2; where it cannot, a warning event says so"),
		honoured(at+"restartPolicyRules", "all containers restart in the same sandbox, without a grace period or hooks"),

		honoured(at+"resizePolicy", "for CPU and memory of containers that run as long as their pod"),
	)
	return append(rules, resourceRules(at+"resources.")...)
}

// ephemeralRules answer for the fields of containers that are added to a running pod.
func ephemeralRules() []rule {
	const at = "spec.ephemeralContainers."
	const forbidden = "Kubernetes does not allow it for ephemeral containers"
	rules := append(commonRules(at),
		honoured(at+"name", "added to a pod that runs, started once, and there for as long as the pod"),
		honoured(at+"targetContainerName", "it is started once that container runs, and sees its processes"),
	)
	for _, field := range []string{
		"lifecycle", "livenessProbe", "ports", "readinessProbe", "resizePolicy", "resources", "restartPolicy", "restartPolicyRules", "startupProbe",
	} {
		rules = append(rules, refuses(at+field, forbidden))
	}
	return rules
}

// commonRules answer for what containers of every kind have.
func commonRules(at string) []rule {
	return slices.Concat([]rule{
		honoured(at+"image", ""),
		honoured(at+"imagePullPolicy", ""),
		honoured(at+"command", ""),
		honoured(at+"args", ""),
		honoured(at+"workingDir", ""),
		honoured(at+"envFrom", "the container waits for what is missing and not optional"),
		honoured(at+"stdin", ""),
		honoured(at+"stdinOnce", ""),
		honoured(at+"tty", ""),
		honoured(at+"terminationMessagePath", ""),
		honoured(at+"terminationMessagePolicy", ""),
		honoured(at+"volumeDevices", "of claims that are bound to local volumes with volumeMode Block"),
	}, envRules(at+"env."), mountRules(at+"volumeMounts."), containerSecurityRules(at+"securityContext."))
}

func envRules(at string) []rule {
	return []rule{
		honoured(at+"name", ""),
		honoured(at+"value", ""),
		honoured(at+"valueFrom.fieldRef", ""),
		honoured(at+"valueFrom.resourceFieldRef", ""),
		honoured(at+"valueFrom.configMapKeyRef", ""),
		honoured(at+"valueFrom.secretKeyRef", ""),
		refuses(at+"valueFrom.fileKeyRef", "no file of a volume is read and the variable would be missing"),
	}
}

func resourceRules(at string) []rule {
	rules := []rule{refuses(at+"claims", "no device would be handed out")}
	for _, list := range []string{"limits.", "requests."} {
		rules = append(rules,
			honoured(at+list+"cpu", ""),
			honoured(at+list+"memory", ""),
			honoured(at+list+"ephemeral-storage", "a pod is evicted whose containers, with their logs and emptyDirs, write more than their limits"),
			refuses(at+list+anyKey, "the container would not get it"),
		)
		for _, size := range pageSizes() {
			rules = append(rules, honoured(at+list+"hugepages-"+size, "of those that the machine had set aside when the node started; held to where the runtime does that"))
		}
	}
	return rules
}

// pageSizes lists the sizes of huge pages on all machines that Kubernetes runs on.
func pageSizes() []string {
	return []string{"64Ki", "1Mi", "2Mi", "32Mi", "512Mi", "1Gi", "2Gi", "16Gi"}
}

// wholeRules answer for what a pod asks for as a whole.
func wholeRules() []rule {
	const at = "spec.resources."
	rules := []rule{refuses(at+"claims", "no device would be handed out")}
	for _, list := range []string{"limits.", "requests."} {
		rules = append(rules,
			honoured(at+list+"cpu", "not where cgroupsPerQOS is off; it changes while the pod runs"),
			honoured(at+list+"memory", "not where cgroupsPerQOS is off; it changes while the pod runs"),
			refuses(at+list+anyKey, "the pod would not get it"),
		)
	}
	return rules
}

func containerSecurityRules(at string) []rule {
	return []rule{
		honoured(at+"capabilities", ""),
		honoured(at+"privileged", ""),
		honoured(at+"allowPrivilegeEscalation", ""),
		honoured(at+"readOnlyRootFilesystem", ""),
		honoured(at+"runAsUser", ""),
		honoured(at+"runAsGroup", ""),
		honoured(at+"runAsNonRoot", ""),
		honoured(at+"seLinuxOptions", ""),
		honoured(at+"seccompProfile", ""),
		honoured(at+"appArmorProfile", ""),
		honoured(at+"procMount", ""),
		refuses(at+"windowsOptions", "only linux runs here"),
	}
}
