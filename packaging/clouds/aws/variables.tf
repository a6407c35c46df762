variable "cluster_id" {
  type        = string
  description = "Name of the cluster; every machine has it as the tag determined_cluster"
}

variable "keypair" {
  type        = string
  description = "Name of the EC2 key pair with which admins log in on the machines"
}

variable "package_url" {
  type        = string
  description = "URL of an archive with the programs, made on the system of the machines (Ubuntu 22.04): make install DESTDIR=$PWD/root PREFIX=/usr && tar -C root -czf determined.tar.gz ."
}

variable "region" {
  type    = string
  default = "us-west-2"
}

variable "profile" {
  type    = string
  default = null
}

variable "master_instance_type" {
  type    = string
  default = "m6i.large"
}

variable "compute_agent_instance_type" {
  type    = string
  default = "g4dn.metal"
}

variable "aux_agent_instance_type" {
  type    = string
  default = "m6i.xlarge"
}

variable "min_dynamic_agents" {
  type        = number
  default     = 0
  description = "Machines with GPUs that always run"
}

variable "max_dynamic_agents" {
  type        = number
  default     = 5
  description = "Most machines with GPUs"
}

variable "max_aux_agents" {
  type        = number
  default     = 5
  description = "Most machines for tasks without slots"
}

variable "max_aux_containers_per_agent" {
  type        = number
  default     = 16
  description = "Tasks without slots on one machine"
}

variable "max_idle_agent_period" {
  type        = string
  default     = "10m"
  description = "Time without tasks after which a machine is ended"
}

variable "max_agent_starting_period" {
  type        = string
  default     = "20m"
  description = "Time within which the agent of a new machine has to connect"
}

variable "spot" {
  type        = bool
  default     = false
  description = "Take spot instances as machines with GPUs"
}

variable "spot_max_price" {
  type    = string
  default = null
}

variable "inbound_cidr" {
  type        = string
  default     = "0.0.0.0/0"
  description = "Addresses that may reach the master and its SSH port"
}

variable "scheduler_type" {
  type    = string
  default = "fair_share"
}

variable "initial_user_password" {
  type        = string
  sensitive   = true
  description = "First password of the users determined and admin"
}

variable "add_tag" {
  type        = list(string)
  default     = []
  description = "Further tags, each KEY=VALUE"
}
