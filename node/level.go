package node

import "k8s.io/component-base/version"

// KubernetesMinor is the minor version of Kubernetes whose API this node implements. It changes with the modules of
// Kubernetes' API in go.mod, and with nothing else.
const KubernetesMinor = version.DefaultKubeBinaryVersion

// KubernetesVersion is that version in full, in the form that installers and clusters parse. The API of a minor version
// is the same in all its patches, so the patch says nothing of this program: its own version is another.
const KubernetesVersion = "v" + KubernetesMinor + ".0"
