package server

import (
	nodev1 "nodal/api/gen/node/v1"
	"nodal/server/auth"
)

// verbs says which right each method needs. A method that is not here is
// denied to everybody.
func verbs() map[string]auth.Verb {
	return map[string]auth.Verb{
		nodev1.ClusterTrustBundlesService_DeleteClusterTrustBundle_FullMethodName:       auth.Write,
		nodev1.ClusterTrustBundlesService_GetClusterTrustBundle_FullMethodName:          auth.Read,
		nodev1.ClusterTrustBundlesService_ListClusterTrustBundles_FullMethodName:        auth.Read,
		nodev1.ClusterTrustBundlesService_PutClusterTrustBundle_FullMethodName:          auth.Write,
		nodev1.ConfigMapsService_DeleteConfigMap_FullMethodName:                         auth.Write,
		nodev1.ConfigMapsService_GetConfigMap_FullMethodName:                            auth.Read,
		nodev1.ConfigMapsService_ListConfigMaps_FullMethodName:                          auth.Read,
		nodev1.ConfigMapsService_PutConfigMap_FullMethodName:                            auth.Write,
		nodev1.EventsService_GetTimeline_FullMethodName:                                 auth.Read,
		nodev1.EventsService_ListEvents_FullMethodName:                                  auth.Read,
		nodev1.EventsService_WatchEvents_FullMethodName:                                 auth.Read,
		nodev1.ExecService_Attach_FullMethodName:                                        auth.Exec,
		nodev1.ExecService_Exec_FullMethodName:                                          auth.Exec,
		nodev1.ExecService_PortForward_FullMethodName:                                   auth.Exec,
		nodev1.ExecService_Run_FullMethodName:                                           auth.Exec,
		nodev1.ImagesService_GetPrunePlan_FullMethodName:                                auth.Read,
		nodev1.ImagesService_ImportImages_FullMethodName:                                auth.Write,
		nodev1.ImagesService_ListImages_FullMethodName:                                  auth.Read,
		nodev1.ImagesService_ListPulls_FullMethodName:                                   auth.Read,
		nodev1.ImagesService_PruneImages_FullMethodName:                                 auth.Write,
		nodev1.ImagesService_RemoveImage_FullMethodName:                                 auth.Write,
		nodev1.LogsService_ReadLogs_FullMethodName:                                      auth.Read,
		nodev1.ManifestsService_Apply_FullMethodName:                                    auth.Write,
		nodev1.ManifestsService_Delete_FullMethodName:                                   auth.Write,
		nodev1.ManifestsService_Plan_FullMethodName:                                     auth.Write,
		nodev1.NodeService_GetLogLevel_FullMethodName:                                   auth.Admin,
		nodev1.NodeService_GetNode_FullMethodName:                                       auth.Read,
		nodev1.NodeService_ListCapabilities_FullMethodName:                              auth.Read,
		nodev1.NodeService_SetLogLevel_FullMethodName:                                   auth.Admin,
		nodev1.NodeService_WatchNode_FullMethodName:                                     auth.Read,
		nodev1.PersistentVolumeClaimsService_DeletePersistentVolumeClaim_FullMethodName: auth.Write,
		nodev1.PersistentVolumeClaimsService_GetPersistentVolumeClaim_FullMethodName:    auth.Read,
		nodev1.PersistentVolumeClaimsService_ListPersistentVolumeClaims_FullMethodName:  auth.Read,
		nodev1.PersistentVolumeClaimsService_PutPersistentVolumeClaim_FullMethodName:    auth.Write,
		nodev1.PersistentVolumesService_DeletePersistentVolume_FullMethodName:           auth.Write,
		nodev1.PersistentVolumesService_GetPersistentVolume_FullMethodName:              auth.Read,
		nodev1.PersistentVolumesService_ListPersistentVolumes_FullMethodName:            auth.Read,
		nodev1.PersistentVolumesService_PutPersistentVolume_FullMethodName:              auth.Write,
		nodev1.PodsService_DeletePod_FullMethodName:                                     auth.Write,
		nodev1.PodsService_GetPod_FullMethodName:                                        auth.Read,
		nodev1.PodsService_ListPods_FullMethodName:                                      auth.Read,
		nodev1.PodsService_PutPod_FullMethodName:                                        auth.Write,
		nodev1.PodsService_RestartPod_FullMethodName:                                    auth.Write,
		nodev1.PodsService_SetPodCondition_FullMethodName:                               auth.Write,
		nodev1.PodsService_WatchPods_FullMethodName:                                     auth.Read,
		nodev1.RuntimeClassesService_DeleteRuntimeClass_FullMethodName:                  auth.Write,
		nodev1.RuntimeClassesService_GetRuntimeClass_FullMethodName:                     auth.Read,
		nodev1.RuntimeClassesService_ListRuntimeClasses_FullMethodName:                  auth.Read,
		nodev1.RuntimeClassesService_PutRuntimeClass_FullMethodName:                     auth.Write,
		nodev1.SecretsService_DeleteSecret_FullMethodName:                               auth.Write,
		nodev1.SecretsService_GetSecret_FullMethodName:                                  auth.Read,
		nodev1.SecretsService_ListSecrets_FullMethodName:                                auth.Read,
		nodev1.SecretsService_PutSecret_FullMethodName:                                  auth.Write,
		nodev1.StatsService_GetStats_FullMethodName:                                     auth.Read,
		nodev1.StatsService_GetStatsHistory_FullMethodName:                              auth.Read,
		nodev1.StatsService_WatchStats_FullMethodName:                                   auth.Read,
	}
}
