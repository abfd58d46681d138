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
		without(at+"lifecycle.postStart.tcpSocket", "Kubernetes has removed this hook; it always fails, and the container with it"),
		honoured(at+"lifecycle.preStop.exec", ""),
		honoured(at+"lifecycle.preStop.httpGet", "any answer is a success"),
		honoured(at+"lifecycle.preStop.sleep", ""),
		without(at+"lifecycle.preStop.tcpSocket", "Kubernetes has removed this hook; it always fails, and the container ends without it"),
		honoured(at+"lifecycle.stopSignal", "needs support by the runtime (containerd 2.2); without it a warning event is recorded"),
		honoured(at+"restartPolicyRules", "all containers restart in the same sandbox, without a grace period or hooks"),

		honoured(at+"resizePolicy", "for CPU and memory of regular containers and sidecars"),
	)
	return append(rules, resourceRules(at+"resources.")...)
}

// ephemeralRules answer for the fields of containers that are added to a running pod.
func ephemeralRules() []rule {
	const at = "spec.ephemeralContainers."
	const forbidden = "Kubernetes does not allow it for ephemeral containers"
	rules := append(commonRules(at),
		honoured(at+"name", "added to a running pod, started once, never removed"),
		honoured(at+"targetContainerName", "starts once that container runs, and shares its process namespace"),
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
		honoured(at+"envFrom", "the container waits for a missing source that is not optional"),
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
		honoured(at+"valueFrom.fileKeyRef", "read whenever the container is made; a file of at most 4 MiB, in lines of at most 64 KiB"),
	}
}

func resourceRules(at string) []rule {
	rules := []rule{refuses(at+"claims", noAllocation).unlessBrought()}
	for _, list := range []string{"limits.", "requests."} {
		rules = append(rules,
			honoured(at+list+anyExtended, "as many as a device plugin on this node offers; the pod is refused while none does"),
			honoured(at+list+"cpu", ""),
			honoured(at+list+"memory", ""),
			honoured(at+list+"ephemeral-storage", "a pod is evicted if its containers, with logs and emptyDirs, exceed their limits"),
			refuses(at+list+anyKey, "the node has no such resource"),
		)
		for _, size := range pageSizes() {
			rules = append(rules, honoured(at+list+"hugepages-"+size, "of the pages reserved when the node started; the limit is enforced if the runtime supports that"))
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
	rules := []rule{refuses(at+"claims", "the node assigns no devices")}
	for _, list := range []string{"limits.", "requests."} {
		rules = append(rules,
			honoured(at+list+"cpu", "not where cgroupsPerQOS is off; it changes while the pod runs"),
			honoured(at+list+"memory", "not where cgroupsPerQOS is off; it changes while the pod runs"),
			refuses(at+list+anyKey, "the node has no such resource"),
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
		refuses(at+"windowsOptions", "the node runs Linux only"),
	}
}
