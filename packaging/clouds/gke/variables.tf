variable "cluster_id" {
  type        = string
  description = "Name of the cluster"
}

variable "project_id" {
  type        = string
  default     = null
  description = "Project of Google Cloud; without it, the one of gcloud"
}

variable "zone" {
  type    = string
  default = "us-west1-b"
}

variable "master_machine_type" {
  type    = string
  default = "n1-standard-16"
}

variable "agent_machine_type" {
  type    = string
  default = "n1-standard-32"
}

variable "gpu_type" {
  type    = string
  default = "nvidia-tesla-t4"
}

variable "gpus_per_node" {
  type    = number
  default = 4
}

variable "cpu_only" {
  type        = bool
  default     = false
  description = "Make no nodes with GPUs"
}

variable "max_gpu_nodes" {
  type    = number
  default = 4
}

variable "max_cpu_nodes" {
  type    = number
  default = 4
}

variable "agent_node_pool_name" {
  type    = string
  default = "gpu-pool"
}

variable "cpu_node_pool_name" {
  type    = string
  default = "cpu-pool"
}

variable "no_managed_bucket" {
  type        = bool
  default     = false
  description = "Make no bucket for checkpoints"
}

variable "gcs_bucket_name" {
  type        = string
  default     = null
  description = "Name of the bucket for checkpoints"
}
