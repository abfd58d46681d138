package cri

import (
	"google.golang.org/protobuf/proto"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// mergeLimits applies an update to the present limits. As CRI demands, a zero in the update changes
// nothing.
func mergeLimits(have, update *runtime.LinuxContainerResources) *runtime.LinuxContainerResources {
	merged := &runtime.LinuxContainerResources{}
	if have != nil {
		merged = proto.CloneOf(have)
	}
	if len(update.GetHugepageLimits()) > 0 {
		merged.HugepageLimits = nil // Merge would append to a list
	}
	proto.Merge(merged, update)
	return merged
}
