variable "cluster_id" {
  type        = string
  description = "Name of the cluster; every machine has it as the label determined_cluster"
}

variable "project_id" {
  type        = string
  description = "Project of Google Cloud"
}

variable "keypath" {
  type        = string
  default     = null
  description = "File with the key of a service account; without it, the login of gcloud"
}

variable "region" {
  type    = string
  default = "us-west1"
}

variable "zone" {
  type        = string
  default     = null
  description = "Without it, the zone b of the region"
}

variable "network" {
  type    = string
  default = "det-default"
}

variable "port" {
  type    = number
  default = 8080
}

variable "disk_size" {
  type    = number
  default = 200
}

variable "disk_type" {
  type    = string
  default = "pd-standard"
}

variable "image" {
  type        = string
  default     = "projects/ml-images/global/images/family/common-cu124-ubuntu-2204-py310"
  description = "Ubuntu with NVIDIA's driver, for all machines"
}

variable "master_instance_type" {
  type    = string
  default = "n1-standard-2"
}

variable "compute_agent_instance_type" {
  type    = string
  default = "n1-standard-32"
}

variable "aux_agent_instance_type" {
  type    = string
  default = "n1-standard-4"
}

variable "gpu_type" {
  type    = string
  default = "nvidia-tesla-t4"
}

variable "gpu_num" {
  type    = number
  default = 4
}

variable "preemptible" {
  type        = bool
  default     = false
  description = "Take preemptible machines with GPUs"
}

variable "inbound_cidr" {
  type        = string
  default     = "0.0.0.0/0"
  description = "Addresses that may reach the master"
}

variable "add_label" {
  type        = list(string)
  default     = []
  description = "Further labels, each KEY=VALUE"
}
